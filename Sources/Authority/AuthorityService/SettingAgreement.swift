import AuthorityCore
package import AuthorityStore
import Wire

/// Checks that all authorities on one store agree on the configuration that they must share.
package enum SettingAgreement {
    /// What an operator can do if the configurations differ.
    package static let advice = """
        use the same value for every authority of this store; to change it for all, stop all of \
        them and start one with `serve --accept-settings`
        """

    /// Writes the shared part of this authority's configuration to the store, if the store has none
    /// or `changing` is set.
    ///
    /// - Throws: `StateFolderError.otherSettings` if the others serve other boards or other
    ///   clients, or issue other tokens.
    package static func reach(
        _ own: SharedSettings, in store: any ServiceStore, changing: Bool
    ) async throws {
        let kept = try await store.keep(own, replacing: changing)
        let differences = own.differences(from: kept)
        guard differences.isEmpty else { throw StateFolderError.otherSettings(differences) }
    }
}

extension ServiceSettings {
    package var shared: SharedSettings {
        SharedSettings(
            topicRoot: rules.info.topicRoot.description,
            applicationID: rules.info.applicationID, publicURL: rules.info.publicURL)
    }
}
