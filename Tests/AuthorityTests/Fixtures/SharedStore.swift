import AuthorityCore
import AuthorityStore
import Sessions
import Synchronization

/// What several processes share on a database server: who holds which name, and who hears of
/// commits.
final class SharedServer: Sendable {
    fileprivate struct State {
        var holders: [String: Int] = [:]
        var last = 0
        var listeners: [AsyncStream<Void>.Continuation] = []
    }

    fileprivate let state = Mutex(State())

    var held: Set<String> { Set(state.withLock { $0.holders.keys }) }

    fileprivate func take(_ name: String) -> Int? {
        state.withLock { state in
            guard state.holders[name] == nil else { return nil }
            state.last += 1
            state.holders[name] = state.last
            return state.last
        }
    }

    fileprivate func isHeld(_ name: String, by number: Int) -> Bool {
        state.withLock { $0.holders[name] == number }
    }

    fileprivate func release(_ name: String, by number: Int) {
        state.withLock { if $0.holders[name] == number { $0.holders[name] = nil } }
    }

    /// As when the server ends the connections that hold.
    func dropHolds() { state.withLock { $0.holders = [:] } }

    fileprivate func listen() -> AsyncStream<Void> {
        let (stream, input) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.listeners.append(input) }
        return stream
    }

    fileprivate func tell() {
        for listener in state.withLock({ $0.listeners }) { listener.yield() }
    }
}

/// One process's store on records that others share: SQLite's, with the holds and the word of
/// commits that a database server has.
final class SharedStore: ServiceStore {
    let isShared = true
    let past = Mutex<String?>(nil)
    private let base: any ServiceStore
    private let server: SharedServer

    init(_ base: any ServiceStore, _ server: SharedServer) {
        self.base = base
        self.server = server
    }

    private struct Hold: StoreHold {
        let server: SharedServer
        let name: String
        let number: Int

        var isHeld: Bool { server.isHeld(name, by: number) }
        func release() async { server.release(name, by: number) }
    }

    func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        server.take(name).map { Hold(server: server, name: name, number: $0) }
    }

    func changes() -> AsyncStream<Void>? { server.listen() }

    func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let result = try await base.transact(body)
        server.tell()
        return result
    }

    func glance<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R { try await base.glance(body) }

    func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R { try await base.read(body) }

    func foreignVersion() async throws(AuthorityError) -> Int64 {
        try await base.foreignVersion()
    }

    func latestTime() async throws(AuthorityError) -> Timestamp? { try await base.latestTime() }
    func raiseLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await base.raiseLatestTime(to: time)
    }
    func resetLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await base.resetLatestTime(to: time)
    }
    func history() async throws(AuthorityError) -> String? { past.withLock { $0 } }
    func tally() async throws(AuthorityError) -> StoreTally { try await base.tally() }
    func close() throws(AuthorityError) { try base.close() }
}
