import AuthorityCore
import AuthorityStore
import PostgresServers
import Sessions
import Synchronization
import Testing
import Wire

@Suite("Outage of the database", .serialized)
struct StoreOutageTests {
    /// A board that heartbeats and refreshes for as long as it is let, and repeats what was
    /// not answered, as an agent does.
    private final class BusyBoard: Sendable {
        private struct State {
            var token: RefreshToken
            var answered = 0
            var failures: [AuthorityError] = []
            var refusals: [Int] = []
        }

        let live: LiveBoard
        private let state: Mutex<State>
        private let isStopped = Atomic(false)

        init(_ live: LiveBoard) {
            self.live = live
            state = Mutex(State(token: live.provision.tokens.refresh))
        }

        var token: RefreshToken { state.withLock { $0.token } }
        var answered: Int { state.withLock { $0.answered } }
        var failures: [AuthorityError] { state.withLock { $0.failures } }
        var refusals: [Int] { state.withLock { $0.refusals } }

        func stop() { isStopped.store(true, ordering: .relaxed) }

        func run() async throws {
            while !isStopped.load(ordering: .relaxed) {
                let heartbeat = try live.payload(
                    .authenticate(live.provision.tokens.session, durationMinutes: nil))
                note(try await answer(heartbeat))
                note(try await answer(live.payload(.refresh(token))))
            }
        }

        /// Says the same again until it is answered.
        private func answer(_ payload: [UInt8]) async throws -> Reply {
            while true {
                do throws(AuthorityError) {
                    let answer = try await live.house.authority.handle(
                        payload, from: live.board.installation)
                    return try reply(in: answer)
                } catch {
                    state.withLock { $0.failures.append(error) }
                    await Task.yield()
                }
            }
        }

        private func reply(in answer: BoardAnswer) throws(AuthorityError) -> Reply {
            do { return try live.reply(in: answer) } catch {
                throw .failed(layer: "test", text: "\(error)")
            }
        }

        private func note(_ reply: Reply) {
            state.withLock { state in
                state.answered += 1
                if let code = reply.errorCode { state.refusals.append(code) }
                if let next = reply.result?.refreshToken { state.token = next }
            }
        }
    }

    @Test("consumes nothing and revokes nobody, and all goes on without a restart",
          .timeLimit(.minutes(5)), arguments: [PostgresServer.Stop.immediate, .fast])
    func outage(manner: PostgresServer.Stop) async throws {
        let server = try await PostgresServer()
        let house = try await House(place: HousePlace(TestDatabase(on: server)))
        let ada = try await house.login()
        var boards: [BusyBoard] = []
        for _ in 0..<6 {
            boards.append(BusyBoard(try await house.provisioned(BoardDouble(), by: ada)))
        }
        let all = boards
        let work = Task {
            try await withThrowingTaskGroup { group in
                for board in all { group.addTask { try await board.run() } }
                try await group.waitForAll()
            }
        }
        for _ in 0..<2 {
            let before = all.map(\.answered)
            try await untilTrue { zip(all, before).allSatisfy { $0.answered > $1 + 4 } }
            let failed = all.map(\.failures.count)
            try await server.stop(manner)
            try await untilTrue { zip(all, failed).allSatisfy { $0.failures.count > $1 } }
            try await server.start()
        }
        let before = all.map(\.answered)
        try await untilTrue { zip(all, before).allSatisfy { $0.answered > $1 + 4 } }
        for board in all { board.stop() }
        try await work.value
        for board in all {
            #expect(board.refusals.isEmpty)
            for failure in Set(board.failures.map { "\($0)" }) {
                #expect(failure.contains("store"), "\(failure)")
            }
            #expect(try await house.record(board.live.session)?.state == .active)
            #expect(try await board.live.ask(.refresh(board.token)).result != nil)
        }
        #expect(try await house.audit("session.reuse").isEmpty)
        #expect(try await house.audit("alarm.refresh").isEmpty)
    }
}
