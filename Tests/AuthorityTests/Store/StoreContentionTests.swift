import AuthorityCore
import AuthorityStore
import Foundation
import Sessions
import Testing
import Wire

@Suite("Many boards on one database", .serialized)
struct StoreContentionTests {
    /// Boards that have nothing to do with each other share pages of indexes, which the
    /// database cannot tell from sharing rows: some of their transactions run twice.
    @Test("are seldom in each other's way", .timeLimit(.minutes(10)),
          arguments: ["heartbeat", "refresh"])
    func contention(kind: String) async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["POSTERN_TEST_BOARDS"].flatMap(Int.init) ?? 64
        let house = try await House(place: HousePlace(.postgreSQL))
        let store = try await house.place.openDatabase(connections: 16)
        let clock = house.clock
        let replica = Authority(
            store: store, cryptography: QuickPasswords(), worker: NotingWorker(),
            keys: house.keys, rules: house.authority.rules, clock: { clock.now })
        let boards = try await provisioned(count, in: house)
        let before = store.attempts.current
        let start = ContinuousClock.now
        let rounds = 4
        try await withThrowingTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    for number in 0..<count where number % 16 == worker {
                        try await talk(to: replica, boards[number], kind, rounds)
                    }
                }
            }
            try await group.waitForAll()
        }
        let span = ContinuousClock.now - start
        let after = store.attempts.current
        let (all, again) = (after.all - before.all, after.again - before.again)
        print("""
            measured: \(count) boards, 16 connections, \(count * rounds) of \(kind): \
            \(again) of \(all) transactions ran again, \(span / (count * rounds)) each
            """)
        #expect(again * 4 < all)
        try store.close()
    }

    private func provisioned(_ count: Int, in house: House) async throws -> [LiveBoard] {
        let ada = try await house.login()
        var boards: [LiveBoard] = []
        for _ in 0..<count {
            boards.append(try await house.provisioned(BoardDouble(), by: ada))
        }
        return boards
    }

    private func talk(
        to authority: Authority, _ live: LiveBoard, _ kind: String, _ rounds: Int
    ) async throws {
        var token = live.provision.tokens.refresh
        for _ in 0..<rounds {
            let body: BoardMessage.Body = kind == "refresh"
                ? .refresh(token)
                : .authenticate(live.provision.tokens.session, durationMinutes: nil)
            let reply = try live.reply(in: await authority.handle(
                live.payload(body), from: live.board.installation))
            #expect(reply.result != nil)
            if let next = reply.result?.refreshToken { token = next }
        }
    }
}
