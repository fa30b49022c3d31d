import Sessions
import Testing

@testable import AuthorityService

@Suite("Clock watch")
struct ClockWatchTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("tells a step of more than five minutes, once", arguments: [
        (10, 10, nil), (10, 310, nil), (10, 311, 301), (10, -291, -301), (10, -290, nil),
        (100_000, 100_000, nil), (100_000, 10, -99_990), (10, 31_536_000, 31_535_990),
    ] as [(Int, Int, Int?)])
    func step(passed: Int, shown: Int, told: Int?) {
        var watch = ClockWatch(wall: Self.start, monotonic: .seconds(7))
        let (wall, monotonic) = (Self.start + .seconds(shown), Duration.seconds(7 + passed))
        #expect(watch.step(wall: wall, monotonic: monotonic) == told.map { .seconds($0) })
        #expect(watch.step(
            wall: wall + .seconds(10), monotonic: monotonic + .seconds(10)) == nil)
    }
}
