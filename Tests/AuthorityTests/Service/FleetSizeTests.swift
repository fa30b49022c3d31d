import AuthorityCore
import Logging
import Sessions
import Testing

@testable import AuthorityService

@Suite("The fleet's size")
struct FleetSizeTests {
    private func made(_ configured: Duration? = nil) -> FleetSize {
        FleetSize(
            configured: configured, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("says over how long boards spread, once it was counted", arguments: [
        (0, 0), (20, 0), (21, 21), (119, 119), (FleetSize.enough, 120), (1_000_000, 120),
    ])
    func counted(boards: Int, seconds: Int) async {
        let size = made()
        #expect(size.spread == nil)
        let next = await size.look { () throws(AuthorityError) in boards }
        #expect(next == .seconds(300))
        #expect(size.spread == .seconds(seconds))
    }

    @Test("stays as it was where it cannot be counted, and is counted again soon")
    func failed() async {
        let size = made()
        let away: FleetSize.Count = { () throws(AuthorityError) in
            throw .failed(layer: "store", text: "away")
        }
        #expect(await size.look(away) == .seconds(10))
        #expect(size.spread == nil)
        _ = await size.look { () throws(AuthorityError) in 50 }
        #expect(await size.look(away) == .seconds(10))
        #expect(size.spread == .seconds(50))
    }

    @Test("does not count against what is configured", arguments: [0, 7, 3600])
    func configured(seconds: Int) async {
        let size = made(.seconds(seconds))
        #expect(size.spread == .seconds(seconds))
        _ = await size.look { () throws(AuthorityError) in 50 }
        #expect(size.spread == .seconds(seconds))
    }

    @Test("is counted until its task is cancelled", .timeLimit(.minutes(5)))
    func run() async throws {
        let size = made()
        let running = Task { await size.run { () throws(AuthorityError) in 30 } }
        try await untilTrue { size.spread == .seconds(30) }
        running.cancel()
        await running.value
    }
}
