import Sessions
import Testing

@testable import AuthorityService

@Suite("Clock watch")
struct ClockWatchTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private static let day = 86_400
    private static let decade = 3650 * 86_400

    /// A clock that a test sets, beside one that only goes forward.
    private struct Clocks {
        var watch: ClockWatch
        var wall = ClockWatchTests.start
        var monotonic = Duration.seconds(7)

        /// Begins `offset` seconds after the latest time on record.
        init(offset: Int) {
            wall = wall + .seconds(offset)
            watch = ClockWatch(
                latest: ClockWatchTests.start, wall: wall, monotonic: monotonic)
        }

        /// Lets seconds pass, sets the clock by `step` and looks.
        mutating func look(after passed: Int = 10, step: Int = 0) -> ClockWatch.Judgement {
            wall = wall + .seconds(passed + step)
            monotonic += .seconds(passed)
            return watch.look(wall: wall, monotonic: monotonic)
        }
    }

    @Test("at the start believes what is not behind the record, and up to 30 days after it",
          arguments: [
            (-decade, false, false), (-31 * day, false, false), (-day, false, true),
            (-61, false, true), (-60, true, true), (0, true, true), (3 * day, true, true),
            (30 * day, true, true), (30 * day + 1, false, false), (decade, false, false),
          ])
    func start(offset: Int, maySweep: Bool, mayAnswer: Bool) {
        var clocks = Clocks(offset: offset)
        let judgement = clocks.look(after: 0)
        #expect(judgement.maySweep == maySweep)
        #expect(judgement.mayAnswer == mayAnswer)
        #expect((judgement.words == nil) == maySweep)
    }

    @Test("without a record believes the first look")
    func noRecord() {
        var watch = ClockWatch(latest: nil, wall: Self.start, monotonic: .zero)
        #expect(watch.look(wall: Self.start, monotonic: .zero) == .believed)
        #expect(watch.latest == Self.start)
    }

    @Test("believes a clock that is behind once it has passed the latest time")
    func catchingUp() {
        var clocks = Clocks(offset: -3600)
        #expect(clocks.look(after: 0) == .behind(.seconds(3600)))
        #expect(clocks.look(after: 3000) == .behind(.seconds(600)))
        #expect(clocks.watch.latest == Self.start)
        #expect(clocks.look(after: 600) == .believed)
    }

    @Test("believes one that is put right at once, whichever way it was wrong",
          arguments: [-decade, -day, 31 * day, decade])
    func putRight(offset: Int) {
        var clocks = Clocks(offset: offset)
        #expect(clocks.look(after: 0) != .believed)
        #expect(clocks.look(step: -offset) == .believed)
        #expect(clocks.look() == .believed)
        #expect(clocks.watch.latest == Self.start + .seconds(20))
    }

    @Test("takes a clock decades ahead for right after a quarter of an hour on its course")
    func proven() {
        var clocks = Clocks(offset: Self.decade)
        #expect(clocks.look(after: 0) == .ahead(.seconds(Self.decade)))
        #expect(clocks.look(after: 899) == .ahead(.seconds(Self.decade + 899)))
        #expect(clocks.watch.latest == Self.start)
        #expect(clocks.look(after: 1) == .believed)
        #expect(clocks.watch.latest == clocks.wall)
    }

    @Test("begins the quarter of an hour anew when a clock that is ahead is set again")
    func unsteady() {
        var clocks = Clocks(offset: Self.decade)
        #expect(clocks.look(after: 0) != .believed)
        #expect(clocks.look(after: 890, step: -Self.day) != .believed)
        #expect(clocks.look(after: 890).maySweep == false)
        #expect(clocks.look(after: 10) == .believed)
    }

    @Test("while running notices a step of more than five minutes forward, or one back",
          arguments: [
            (10, 0, true, true), (10, 299, true, true), (10, 301, false, false),
            (10, 40 * day, false, false), (10, -70, true, true), (10, -71, false, true),
            (100_000, 0, true, true), (100_000, 301, false, false), (10, decade, false, false),
            (10, -decade, false, false),
          ] as [(Int, Int, Bool, Bool)])
    func step(passed: Int, step: Int, maySweep: Bool, mayAnswer: Bool) {
        var clocks = Clocks(offset: 0)
        #expect(clocks.look(after: 0) == .believed)
        let judgement = clocks.look(after: passed, step: step)
        #expect(judgement.maySweep == maySweep)
        #expect(judgement.mayAnswer == mayAnswer)
    }

    @Test("goes on after a step forward and back, and after one that stays")
    func afterStep() {
        var clocks = Clocks(offset: 0)
        #expect(clocks.look(after: 0) == .believed)
        #expect(clocks.look(step: Self.decade) != .believed)
        #expect(clocks.look(step: -Self.decade) == .believed)
        #expect(clocks.look(step: Self.day) != .believed)
        for _ in 0..<89 { #expect(clocks.look() != .believed) }
        #expect(clocks.look() == .believed)
        #expect(clocks.look() == .believed)
    }

    @Test("is not led back by many small steps")
    func creeping() {
        var clocks = Clocks(offset: 0)
        #expect(clocks.look(after: 0) == .believed)
        #expect(clocks.look(after: 0, step: -50) == .believed)
        #expect(clocks.look(after: 0, step: -50) == .behind(.seconds(100)))
    }
}
