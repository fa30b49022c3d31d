extension BoardSettings {
    /// The settings of `[key]`: where the board keeps its storage key.
    package struct Key: Equatable, Sendable {
        package var source: Choice
        /// The TPM's transport, in the syntax of libtss2-tctildr. Source: tctildr(3).
        package var tpm: String

        /// The key source that the first start uses, and `vault rekey` without an argument.
        package enum Choice: String, Sendable, CaseIterable {
            /// The best source that this board has.
            case auto
            case tpm2
            /// The Raspberry Pi's one-time-programmable memory, through its firmware.
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

    /// Accepts a known transport name and its arguments. tctildr loads a library by this name.
    private static func transport(_ text: String) throws(SettingFault) -> String {
        let name = text.prefix { $0 != ":" }
        guard text.utf8.count <= 256, ["device", "swtpm", "mssim", "tabrmd"].contains(name) else {
            throw SettingFault("must begin with device:, tabrmd:, swtpm: or mssim:")
        }
        return text
    }
}
