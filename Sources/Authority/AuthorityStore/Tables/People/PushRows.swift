import AuthorityCore
import PostgreSQLClient
import Sessions

/// Browsers that get alerts.
extension StoreTransaction {
    func pushSubscription(of session: ObjectID) throws(AuthorityError) -> PushSubscription? {
        try row("SELECT * FROM push_subscriptions WHERE session_id = ?", [session.description])
            .map(readSubscription)
    }

    func pushSubscriptions(of user: UserID) throws(AuthorityError) -> [PushSubscription] {
        try map(
            try rows(
                "SELECT * FROM push_subscriptions WHERE user_id = ? ORDER BY session_id",
                [user.description]),
            readSubscription)
    }

    func save(_ subscription: PushSubscription) throws(AuthorityError) {
        let session = subscription.session
        try run(
            "DELETE FROM push_subscriptions WHERE session_id = ? OR endpoint = ?",
            [session.description, subscription.endpoint])
        try run(
            """
            INSERT INTO push_subscriptions
                (session_id, user_id, endpoint, point, secret, created_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [session.description, subscription.user.description, subscription.endpoint,
             subscription.point, try wrapping.wrap(subscription.secret, place: place(session)),
             subscription.createdAt.milliseconds])
    }

    func deletePushSubscription(of session: ObjectID) throws(AuthorityError) {
        try run(
            "DELETE FROM push_subscriptions WHERE session_id = ?", [session.description])
    }

    private func place(_ session: ObjectID) -> String { "push_subscriptions.secret \(session)" }

    private func readSubscription(_ row: SQLRow) throws(AuthorityError) -> PushSubscription {
        let session = try row.parsed("session_id", ObjectID.init)
        return PushSubscription(
            session: session, user: try row.parsed("user_id", UserID.init),
            endpoint: try row.value("endpoint"), point: try row.bytes("point"),
            secret: try wrapping.unwrap(try row.bytes("secret"), place: place(session)),
            createdAt: try row.time("created_at"))
    }
}
