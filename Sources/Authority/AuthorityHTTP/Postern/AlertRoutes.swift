package import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Sends one test message on each channel.
package protocol AlertTest: Sendable {
    /// The result of each configured channel. Empty: none is configured.
    func testAlerts() async -> [AlertTrial]
}

/// The result of a test message.
package struct AlertTrial: Equatable, Sendable {
    package let channel: AlertChannel
    /// Nil: it was sent.
    package let failure: String?

    package init(channel: AlertChannel, failure: String?) {
        self.channel = channel
        self.failure = failure
    }
}

/// Alerts: the list, and a test of the channels.
struct AlertRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let test: (any AlertTest)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/alerts", .session(alerts)),
            HTTPRoute(.post, "/alerts/test", .session(sendTest)),
        ]
    }

    /// `?everyone=true`, as in the list of boards. `?resolved=true`: also the resolved alerts of
    /// the last 30 days. `?board=<iid>`: only those of one board.
    private func alerts(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = AlertQuery(
            everyone: try call.everyone(),
            board: try call.queried("board", InstallationID.init),
            withResolved: try call.queried("resolved", Bool.init) ?? false)
        return .results(try await frontend.alerts(query, by: caller).map { .object($0.form) })
    }

    private func sendTest(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.checkAlertTest(by: caller)
        let trials = await test?.testAlerts() ?? []
        return .results(trials.map { trial in
            .object([
                "channel": .string(trial.channel.rawValue), "isSent": .bool(trial.failure == nil),
                "failure": trial.failure.map(JSONValue.string) ?? .null,
            ])
        })
    }
}

extension Alert {
    var form: [String: JSONValue] {
        [
            "id": .string(id.description), "kind": .string(kind.rawValue),
            "state": .string(resolvedAt == nil ? "opened" : "resolved"),
            "installationId": .optional(watchedBoard),
            "name": board == nil ? .null : .string(boardName), "openedAt": .time(openedAt),
            "resolvedAt": .optionalTime(resolvedAt), "text": .string(text),
            "details": .object(details),
        ]
    }
}
