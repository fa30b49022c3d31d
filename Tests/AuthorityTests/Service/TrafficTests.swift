import Sessions
import Testing

@testable import AuthorityService

@Suite("Traffic meter")
struct TrafficTests {
    @Test("lets a burst pass, then its rate", arguments: [
        (TrafficMeter.Kind.outbox, 50, 20), (.status, 10, 5),
    ])
    func rate(kind: TrafficMeter.Kind, burst: Int, rate: Int) throws {
        let board = try BoardDouble().installation
        var meter = TrafficMeter()
        func passed(_ meter: inout TrafficMeter, at now: Duration) -> Int {
            (0..<200).count { _ in meter.admit(kind, of: board, now: now) == .passes }
        }
        #expect(passed(&meter, at: .seconds(1)) == burst)
        #expect(passed(&meter, at: .seconds(2)) == rate)
        #expect(passed(&meter, at: .seconds(2)) == 0)
        #expect(passed(&meter, at: .seconds(3600)) == burst)
    }

    @Test("counts what it drops, for each board and kind apart")
    func apart() throws {
        let loud = try BoardDouble().installation
        let quiet = try BoardDouble().installation
        var meter = TrafficMeter()
        for _ in 0..<10 {
            #expect(meter.admit(.status, of: loud, now: .zero) == .passes)
        }
        #expect(meter.admit(.status, of: loud, now: .zero) == .dropped(1))
        #expect(meter.admit(.status, of: loud, now: .zero) == .dropped(2))
        #expect(meter.admit(.outbox, of: loud, now: .zero) == .passes)
        #expect(meter.admit(.status, of: quiet, now: .zero) == .passes)
    }
}
