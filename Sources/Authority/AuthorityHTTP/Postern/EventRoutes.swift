import AuthorityCore
import Hummingbird
import NIOCore
import Sessions
import Wire

/// Sends the console's events as they happen, as server-sent events.
///
/// Source: WHATWG HTML Living Standard §9.2.
struct EventRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let live: (any LiveFeed)?

    var routes: [HTTPRoute] { [HTTPRoute(.get, "/events", .session(events))] }

    private func events(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let filter = EventFilter(
            board: try call.queried("board", InstallationID.init),
            everyone: try call.everyone())
        guard let live else { throw .noObject }
        let writer = EventWriter(
            source: try await live.events(for: caller, filter), live: live,
            connection: call.connection)
        var answer = Answer(stream: { body in
            try await writer.write(to: &body)
        })
        answer.headers[.contentType] = "text/event-stream; charset=utf-8"
        // A proxy in front of us must pass on each event at once.
        if let name = HTTPFieldName.buffering { answer.headers[name] = "no" }
        return answer
    }
}

/// Writes one stream of events until it ends, its reader disconnects, or the source cuts it.
private struct EventWriter: Sendable {
    let source: any EventSource
    let live: any LiveFeed
    let connection: HTTPConnection

    func write(to writer: inout any ResponseBodyWriter) async throws {
        // A write waits while the reader does not read. Closing the connection ends the wait.
        source.onCut { [connection] in connection.close() }
        connection.onceClosed { [weak source] in source?.close() }
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        while let event = await source.next() {
            try await writer.write(ByteBuffer(string: text(of: event)))
        }
        try await writer.finish(nil)
    }

    private func text(of event: ConsoleEvent) -> String {
        guard let (name, members) = form(of: event) else { return ": quiet\n\n" }
        // Our JSON has no line breaks.
        return "event: \(name)\ndata: \(JSONValue.object(members).text)\n\n"
    }

    private func form(of board: Board) -> [String: JSONValue] {
        live.keepToOwner(of: board)
        return board.form(lastData: live.lastData(of: board.installation))
    }

    private func form(of event: ConsoleEvent) -> (name: String, [String: JSONValue])? {
        switch event {
        case .hello(let time): ("hello", ["timeMs": .milliseconds(time)])
        case .board(let board): ("board", form(of: board))
        case .minute(let minute): ("minute", minute.form)
        case .reading(let reading): ("reading", reading.form)
        case .claim(let claim): ("claim", claim.form)
        case .sessions: ("sessions", [:])
        case .audit(let entry): ("audit", entry.form)
        case .unshared(let id): ("unshared", ["installationId": .string(id.description)])
        case .quiet: nil
        case .bye: ("bye", ["code": .integer(Int64(ErrorCode.invalidSession.rawValue))])
        }
    }
}
