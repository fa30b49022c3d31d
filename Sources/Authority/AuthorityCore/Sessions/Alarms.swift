import Sessions

extension Authority {
    /// Writes an alarm for the operator into the audit log. No request caused it.
    package func alarm(_ event: String, _ detail: String) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try audit("alarm.\(event)", "authority", nil, nil, detail, transaction, at: now)
        }
    }
}
