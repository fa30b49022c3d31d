import AuthorityCore
import AuthorityStore
import Wire

/// Whether this authority is configured as the others on its store are.
enum SettingAgreement {
    /// What an operator can do about a difference.
    static let advice = """
        set it alike for every authority of this store; to change it for all of them, stop them \
        and start one with `serve --accept-settings`
        """

    /// Keeps our settings in the store where none are kept yet, or `changing`.
    ///
    /// - Throws: `StateFolderError.otherSettings` where the others serve other boards or other
    ///   clients, or issue other tokens.
    static func reach(
        _ own: SharedSettings, in store: any ServiceStore, changing: Bool
    ) async throws {
        let kept = try await store.keep(own, replacing: changing)
        let differences = own.differences(from: kept)
        guard differences.isEmpty else { throw StateFolderError.otherSettings(differences) }
    }
}

extension ServiceSettings {
    var shared: SharedSettings {
        SharedSettings(
            topicRoot: rules.info.topicRoot.description,
            applicationID: rules.info.applicationID, publicURL: rules.info.publicURL)
    }
}
