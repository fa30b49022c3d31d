package import AgentStore
import ConfigurationFiles
import LinuxIO
import TPM

extension BoardFiles {
    /// The key file of this board, with the sources that keep the storage key or could keep a new
    /// one. `report` receives the sources that a choice passed over.
    package func keyFile(_ report: @escaping (String) -> Void = { _ in }) -> KeyFile {
        let platform = TrustedPlatform(transport: settings.key.tpm)
        return KeyFile(
            folder: settings.stateDir,
            keepers: [
                TrustedPlatformKey(platform), FirmwareKey(VideoCoreMailbox()),
                CredentialKey(folder: Environment.value("CREDENTIALS_DIRECTORY")), MachineKey(),
            ],
            choice: KeyTier(rawValue: settings.key.source.rawValue), report: report)
    }
}

extension KeyTier {
    /// The key source names that a person may write, including `auto`.
    package static let choices = BoardSettings.Key.Choice.allCases.map(\.rawValue)

    /// What this key source protects against, in one sentence.
    var protection: String {
        switch self {
        case .tpm2:
            "a copy of the card, or the card itself, opens on no other board: the key is in this "
                + "board's TPM"
        case .raspberryPi:
            "a copy of the card, or the card itself, opens on no other board; root on this "
                + "board can read the key"
        case .credential:
            "a copy of the state folder opens nowhere; the card opens elsewhere unless the "
                + "credential is bound to a TPM"
        case .file: "a copy of the state folder opens nowhere else; a copy of the whole card does"
        }
    }
}
