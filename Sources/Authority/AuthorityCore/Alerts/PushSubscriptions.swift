package import Sessions

/// A browser that gets the alerts of the person who is logged in there. It ends with the session.
///
/// Source: RFC 8030 §4; RFC 8291 §3.1.
package struct PushSubscription: Sendable {
    package let session: ObjectID
    package let user: UserID
    /// The address at the browser's push service. Only our key may send there.
    package let endpoint: String
    /// The browser's public point.
    package let point: [UInt8]
    /// The browser's secret for encryption.
    package let secret: SecretBytes
    package let createdAt: Timestamp

    package init(
        session: ObjectID, user: UserID, endpoint: String, point: [UInt8], secret: SecretBytes,
        createdAt: Timestamp
    ) {
        self.session = session
        self.user = user
        self.endpoint = endpoint
        self.point = point
        self.secret = secret
        self.createdAt = createdAt
    }
}

/// What a browser gives to get alerts. The address and the keys are already checked.
package struct PushOrder: Sendable {
    package let endpoint: String
    package let point: [UInt8]
    package let secret: SecretBytes

    package init(endpoint: String, point: [UInt8], secret: SecretBytes) {
        self.endpoint = endpoint
        self.point = point
        self.secret = secret
    }
}

package protocol PushTable {
    func pushSubscription(of session: ObjectID) throws(AuthorityError) -> PushSubscription?
    func pushSubscriptions(of user: UserID) throws(AuthorityError) -> [PushSubscription]
    /// Replaces the one of the session, and any other with the same address.
    func save(_ subscription: PushSubscription) throws(AuthorityError)
    func deletePushSubscription(of session: ObjectID) throws(AuthorityError)
}

/// A person has at most one subscription for each login, so the logins bound them.
extension Authority {
    package func pushSubscription(
        by caller: Caller
    ) async throws(AuthorityError) -> PushSubscription? {
        try await look(.ownPush, by: caller) { act throws(AuthorityError) in
            try act.transaction.pushSubscription(of: act.session.id)
        }
    }

    package func subscribe(_ order: PushOrder, by caller: Caller) async throws(AuthorityError) {
        try await act(.push, by: caller) { act throws(AuthorityError) in
            try act.transaction.save(PushSubscription(
                session: act.session.id, user: act.user.objectID, endpoint: order.endpoint,
                point: order.point, secret: order.secret, createdAt: act.now))
        }
    }

    package func unsubscribe(by caller: Caller) async throws(AuthorityError) {
        try await act(.push, by: caller) { act throws(AuthorityError) in
            try act.transaction.deletePushSubscription(of: act.session.id)
        }
    }

    /// The browsers that get messages about an alert: those of the present owner, who has the
    /// board since before the alert, on sessions that are alive.
    package func pushReceivers(
        of alert: Alert
    ) async throws(AuthorityError) -> [PushSubscription] {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            guard let owner = try Self.owner(of: alert, transaction),
                try transaction.user(owner)?.isEnabled == true
            else { return [] }
            var alive: [PushSubscription] = []
            for one in try transaction.pushSubscriptions(of: owner) {
                if try transaction.session(one.session)?.isLive(at: now, under: rules.lifetimes)
                    == true
                {
                    alive.append(one)
                }
            }
            return alive
        }
    }

    private static func owner(
        of alert: Alert, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> UserID? {
        guard let id = alert.board else { return alert.owner }
        if alert.kind == .claimUsedTwice { return try transaction.preparedClaim(id)?.owner }
        guard let board = try transaction.board(id), !board.released,
            alert.openedAt >= board.ownedSince
        else { return nil }
        return board.owner
    }

    /// Forgets a browser that its push service does not know any more.
    package func forget(_ subscription: PushSubscription) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            let present = try transaction.pushSubscription(of: subscription.session)
            guard present?.endpoint == subscription.endpoint else { return }
            try transaction.deletePushSubscription(of: subscription.session)
        }
    }
}
