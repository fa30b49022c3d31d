import ArgumentParser
import Sessions
import Wire

/// `postern alerts`: the states of boards that a person should know of.
struct AlertsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alerts",
        abstract: "List the alerts of your boards, or test how they are sent.",
        subcommands: [List.self, Test.self], defaultSubcommand: List.self)

    struct List: Verb {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the open alerts of your boards.")

        @OptionGroup var place: Place
        @Flag(help: "Everyone's alerts; for administrators.") var everyone = false
        @Flag(help: "Also the alerts that were resolved within the last 30 days.")
        var resolved = false

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let answer = try await client.own(
                .get, "/alerts?everyone=\(everyone)&resolved=\(resolved)")
            let alerts = try results(in: answer, AlertRow.init(json:))
            if place.json { return surroundings.emit(.array(alerts.map(\.json))) }
            guard !alerts.isEmpty else { return surroundings.note("no alerts") }
            let times = surroundings.times
            var table = TextTable("KIND", "OPENED", "RESOLVED", "ALERT")
            for alert in alerts {
                table.add(
                    alert.kind, times.show(alert.openedAt), times.show(alert.resolvedAt, empty: ""),
                    alert.text)
            }
            surroundings.show(table)
        }
    }

    struct Test: Verb {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Send a test message on each channel of [alerts]; for administrators.")

        @OptionGroup var place: Place

        func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
            let client = try place.login(in: surroundings).client
            let trials = try results(
                in: try await client.own(.post, "/alerts/test", [:]), AlertTrialRow.init(json:))
            if place.json { surroundings.emit(.array(trials.map(\.json))) }
            guard !trials.isEmpty else {
                throw .usage("alerts are sent nowhere: authority.toml has no webhook, ntfy or "
                    + "smtp in [alerts]")
            }
            for trial in trials {
                let failure = trial.failure.map { ": " + Printable.line($0) }
                surroundings.step(trial.failure == nil, trial.channel + (failure ?? " was sent"))
            }
            let failed = trials.count { $0.failure != nil }
            guard failed == 0 else {
                throw .failed(layer: "alerts", text: "\(failed) of \(trials.count) channels failed")
            }
        }
    }
}

/// An alert, as the authority lists it.
struct AlertRow: Sendable {
    let id: MessageID
    let kind: String
    let installation: InstallationID?
    let name: String?
    let openedAt: Timestamp
    let resolvedAt: Timestamp?
    let text: String
    let details: [String: JSONValue]

    init(json: JSONObject) throws(WireError) {
        id = try json.parsed("id", MessageID.init)
        kind = try json.string("kind")
        installation = try json.optional("installationId") {
            $0.asString.flatMap(InstallationID.init)
        }
        name = try json.optional("name") { $0.asString }
        openedAt = try json.time("openedAt")
        resolvedAt = try json.optional("resolvedAt") {
            $0.asInteger.flatMap(Timestamp.init(seconds:))
        }
        text = try json.string("text")
        details = try json.object("details").members
    }

    var json: JSONValue {
        .object([
            "id": .string(id.description), "kind": .string(kind),
            "state": .string(resolvedAt == nil ? "opened" : "resolved"),
            "installationId": installation.map { .string($0.description) } ?? .null,
            "name": name.map(JSONValue.string) ?? .null, "openedAt": .time(openedAt),
            "resolvedAt": resolvedAt.map(JSONValue.time) ?? .null, "text": .string(text),
            "details": .object(details),
        ])
    }
}

private struct AlertTrialRow: Sendable {
    let channel: String
    let failure: String?

    init(json: JSONObject) throws(WireError) {
        channel = try json.string("channel")
        failure = try json.optional("failure") { $0.asString }
    }

    var json: JSONValue {
        .object([
            "channel": .string(channel), "isSent": .bool(failure == nil),
            "failure": failure.map(JSONValue.string) ?? .null,
        ])
    }
}
