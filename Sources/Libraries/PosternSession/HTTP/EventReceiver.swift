import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reads a stream of events. An answer that is none is kept, because it says why.
final class EventReceiver: TransferReceiver {
    typealias Continuation = AsyncThrowingStream<ServerSentEvent, any Error>.Continuation

    /// The most bytes of an answer that is no stream.
    private static let limit = 1 << 16

    private struct State {
        var status = 0
        var isStream = false
        var parser = ServerSentEvents()
        var body = Data()
    }

    private let state = Mutex(State())
    private let events: Continuation

    init(_ events: Continuation) { self.events = events }

    func begin(_ head: HTTPURLResponse) {
        let type = head.value(forHTTPHeaderField: "Content-Type") ?? ""
        state.withLock {
            $0.status = head.statusCode
            $0.isStream = head.statusCode == 200 && type.hasPrefix("text/event-stream")
        }
    }

    func take(_ data: Data) throws(SessionError) {
        let found = state.withLock { state -> Result<[ServerSentEvent], SessionError> in
            guard state.isStream else {
                guard data.count <= Self.limit - state.body.count else {
                    return .failure(.malformedAnswer("it has more than \(Self.limit) bytes"))
                }
                state.body.append(data)
                return .success([])
            }
            return Result { () throws(SessionError) in try state.parser.take(data) }
        }
        for event in try found.get() {
            if case .dropped = events.yield(event) {
                throw .malformedAnswer("events come faster than they are read")
            }
        }
    }

    func end(_ error: SessionError?) {
        let (status, isStream, body) = state.withLock { ($0.status, $0.isStream, $0.body) }
        if let error { return events.finish(throwing: error) }
        if isStream { return events.finish() }
        events.finish(throwing: SessionError(status: status, body: body))
    }
}
