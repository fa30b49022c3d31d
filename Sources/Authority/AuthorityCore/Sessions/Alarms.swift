import Sessions

extension Authority {
    /// Writes into the audit log what an operator must know of and no request caused.
    package func alarm(_ event: String, _ detail: String) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try audit("alarm.\(event)", "authority", nil, nil, detail, transaction, at: now)
        }
    }
}
