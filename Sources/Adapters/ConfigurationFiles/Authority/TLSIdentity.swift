/// A program's own certificate and key, both PEM. It shows them as a server, or to a peer that
/// asks.
package struct TLSIdentity: Equatable, Sendable {
    /// The certificate first, then the certificates that signed it.
    package var certificateFile: String
    package var keyFile: String

    package init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    /// Nil if both keys are absent. One key without the other is an error.
    init?(_ section: TOMLSection) throws(SettingsError) {
        let certificate = try section.value("certificate_file", SettingValue.absolutePath)
        let key = try section.value("key_file", SettingValue.absolutePath)
        switch (certificate, key) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            self.init(certificateFile: certificate, keyFile: key)
        case (_?, nil): throw section.fault("key_file", "a certificate needs its key")
        case (nil, _?): throw section.fault("certificate_file", "a key needs its certificate")
        }
    }
}
