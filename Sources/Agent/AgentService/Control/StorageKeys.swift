package import AgentStore
import ConfigurationFiles
import LinuxIO
import TPM

extension BoardFiles {
    /// What keeps the storage key on this board, and would keep a new one. `report` hears which
    /// sources a choice has passed over.
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
    /// What a person may call it, the choice of the best among them.
    package static let choices = BoardSettings.Key.Choice.allCases.map(\.rawValue)

    /// What it keeps from whom, in a sentence.
    var protection: String {
        switch self {
        case .tpm2:
            "a copy of the card, or the card itself, opens on no other board: the key is in this "
                + "board's TPM"
        case .raspberryPi:
            "a copy of the card, or the card itself, opens on no other board; who is root on this "
                + "one has the key"
        case .credential:
            "a copy of the state folder opens nowhere; the card opens elsewhere unless the "
                + "credential is bound to a TPM"
        case .file: "a copy of the state folder opens nowhere else; a copy of the whole card does"
        }
    }
}
