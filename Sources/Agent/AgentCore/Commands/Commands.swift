import Sessions
import Wire

/// What this process knows of commands beside `TakenCommands`: the texts that wait for a
/// subscriber, and the results that wait for a reply.
struct Commands: Sendable {
    private struct Waiting {
        let id: MessageID
        let content: JSONValue
        var backoff = Backoff(first: .seconds(2), limit: .seconds(10))
        /// Nil: it is on its way to the local broker.
        var nextTry: Duration?
    }

    private struct Request {
        /// The id of the command, and of the message with its result.
        let command: MessageID
        let message: MessageID
        var nextTry: Duration
        var backoff: Backoff
    }

    /// The most results of which a reply is expected that changes nothing.
    private static let onceLimit = 64

    private(set) var counts = CommandCounts()
    private var waiting: [Waiting] = []
    private var requests: [Request] = []
    /// The messages of final results that are sent once. A reply to them is no fault.
    private var once: [MessageID] = []

    /// The floor that the log was last told of.
    private var toldFloor: Timestamp?

    var waitingCount: Int { waiting.count }
    mutating func count(_ result: CommandResult.State) { counts.add(result) }

    mutating func isNews(floor: Timestamp) -> Bool {
        defer { toldFloor = floor }
        return toldFloor != floor
    }

    mutating func forgetAll() {
        waiting.removeAll()
        requests.removeAll()
        once.removeAll()
    }
}

// The way to the app.
extension Commands {
    var nextPublication: Duration? { waiting.compactMap(\.nextTry).min() }

    /// The commands that are not on their way: nobody can have got them.
    var held: [MessageID] { waiting.filter { $0.nextTry != nil }.map(\.id) }

    func isOnItsWay(_ id: MessageID) -> Bool {
        waiting.contains { $0.id == id && $0.nextTry == nil }
    }

    mutating func wait(_ id: MessageID, _ content: JSONValue, at now: Duration) {
        waiting.append(Waiting(id: id, content: content, nextTry: now))
    }

    /// Tries all at once: the local broker is new.
    mutating func retry(at now: Duration) {
        for index in waiting.indices where waiting[index].nextTry != nil {
            waiting[index].nextTry = now
            waiting[index].backoff.reset()
        }
    }

    /// Returns the commands to publish now, and marks them as on their way.
    mutating func takeDue(at now: Duration) -> [(id: MessageID, content: JSONValue)] {
        var due: [(MessageID, JSONValue)] = []
        for index in waiting.indices {
            guard let next = waiting[index].nextTry, next <= now else { continue }
            waiting[index].nextTry = nil
            due.append((waiting[index].id, waiting[index].content))
        }
        return due
    }

    /// Nobody got it: it is tried again later.
    mutating func failed(_ id: MessageID, at now: Duration) {
        for index in waiting.indices where waiting[index].id == id {
            waiting[index].nextTry = now + waiting[index].backoff.next(share: 0)
        }
    }

    mutating func stopWaiting(_ id: MessageID) { waiting.removeAll { $0.id == id } }
}

// The way of results to the authority.
extension Commands {
    var nextResult: Duration? { requests.map(\.nextTry).min() }

    /// The commands whose results wait for a reply.
    var requested: [MessageID] { requests.map(\.command) }

    func hasRequest(of command: MessageID) -> Bool { requests.contains { $0.command == command } }

    mutating func request(
        _ command: MessageID, as message: MessageID, backoff: Backoff, at now: Duration
    ) {
        requests.removeAll { $0.command == command }
        requests.append(Request(
            command: command, message: message, nextTry: now, backoff: backoff))
    }

    /// Sends all results now: the connection is new.
    mutating func resume(at now: Duration) {
        for index in requests.indices {
            requests[index].nextTry = now
            requests[index].backoff.reset()
        }
    }

    mutating func hasten(_ command: MessageID, at now: Duration) {
        for index in requests.indices where requests[index].command == command {
            requests[index].nextTry = now
        }
    }

    /// Returns the results to send now, and plans their next tries.
    mutating func takeDueResults(
        at now: Duration, share: Double, spread: Duration
    ) -> [(command: MessageID, message: MessageID)] {
        var due: [(MessageID, MessageID)] = []
        for index in requests.indices where requests[index].nextTry <= now {
            requests[index].nextTry = now + requests[index].backoff.next(share: share) + spread
            due.append((requests[index].command, requests[index].message))
        }
        return due
    }

    /// The command whose result has this message id. Nil: none waits for its reply.
    func command(of message: MessageID) -> MessageID? {
        requests.first { $0.message == message }?.command
    }

    mutating func putOff(_ command: MessageID, until time: Duration) {
        for index in requests.indices where requests[index].command == command {
            requests[index].nextTry = time
        }
    }

    mutating func finish(_ command: MessageID) { requests.removeAll { $0.command == command } }

    mutating func sentOnce(_ message: MessageID) {
        if once.count >= Self.onceLimit { once.removeFirst() }
        once.append(message)
    }

    mutating func takeOnce(_ message: MessageID) -> Bool {
        defer { once.removeAll { $0 == message } }
        return once.contains(message)
    }
}

/// How many commands had which result, since this agent started.
package struct CommandCounts: Equatable, Sendable {
    package private(set) var delivered: Int64 = 0
    package private(set) var answered: Int64 = 0
    package private(set) var refused: Int64 = 0
    package private(set) var expired: Int64 = 0

    mutating func add(_ result: CommandResult.State) {
        switch result {
        case .delivered: delivered += 1
        case .answered: answered += 1
        case .refused: refused += 1
        case .expired: expired += 1
        }
    }
}
