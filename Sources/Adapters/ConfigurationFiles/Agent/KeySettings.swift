extension BoardSettings {
    /// `[key]`: what keeps the storage key.
    package struct Key: Equatable, Sendable {
        package var source: Choice
        /// How the TPM is reached, as libtss2-tctildr names it. Source: tctildr(3).
        package var tpm: String

        /// What the first start, and `vault rekey` without an argument, take.
        package enum Choice: String, Sendable, CaseIterable {
            /// The best that this board has.
            case auto
            case tpm2
            /// The Pi's one-time-programmable memory, by way of its firmware.
            case raspberryPi = "raspberry-pi"
            /// A systemd credential.
            case credential
            /// A file in the state folder, bound to this machine's id.
            case file
        }
    }
}

extension BoardSettings.Key {
    static let standardTPM = "device:/dev/tpmrm0"

    init(_ section: TOMLSection) throws(SettingsError) {
        source = try section.value("source", SettingValue.choice) ?? .auto
        tpm = try section.value("tpm", Self.transport) ?? Self.standardTPM
    }

    /// A name and its arguments; tctildr takes the name for a library's.
    private static func transport(_ text: String) throws(SettingFault) -> String {
        let name = text.prefix { $0 != ":" }
        guard text.utf8.count <= 256, ["device", "swtpm", "mssim", "tabrmd"].contains(name) else {
            throw SettingFault("begins with device:, tabrmd:, swtpm: or mssim:")
        }
        return text
    }
}
