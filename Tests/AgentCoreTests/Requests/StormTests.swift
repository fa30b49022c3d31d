import Foundation
import Sessions
import Testing

@Suite("Storm")
struct StormTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let fleet: Int
        let outage: Outage
        var testDescription: String { "\(name), \(fleet) boards" }
    }

    private static let start = Duration.seconds(310)

    private static func outage(
        broker: Int? = nil, hangs: Bool = false, authority: Int? = nil, overload: Int? = nil
    ) -> Outage {
        let span = { (seconds: Int?) in seconds.map { start..<(start + .seconds($0)) } }
        return Outage(
            broker: span(broker), hangs: hangs, authority: span(authority),
            overload: span(overload))
    }

    private static let outages: [(String, Outage)] = [
        ("a broker restarts", outage(broker: 2)),
        ("a broker is away for five minutes", outage(broker: 300)),
        ("a broker hangs for a minute", outage(broker: 60, hangs: true)),
        ("an authority restarts", outage(authority: 20)),
        ("an authority is away for ten minutes", outage(authority: 600)),
        ("both restart", outage(broker: 5, authority: 30)),
        ("an authority is overloaded for five minutes", outage(overload: 300)),
    ]

    private static let rows = outages.map { Row(name: $0.0, fleet: 200, outage: $0.1) }
        + [0, 5, 6].map { Row(name: outages[$0].0, fleet: 1000, outage: outages[$0].1) }
        + (isLong ? [Row(name: outages[5].0, fleet: 10_000, outage: outages[5].1)] : [])

    /// `make test-all` sets POSTERN_LONG.
    private static var isLong: Bool { ProcessInfo.processInfo.environment["POSTERN_LONG"] != nil }

    @Test("brings at most a twentieth of the fleet in any second, and ends no session",
          arguments: rows)
    func peaks(row: Row) throws {
        let away = [row.outage.broker, row.outage.authority, row.outage.overload]
            .compactMap { $0?.upperBound }.max() ?? Self.start
        var fleet = try StormFleet(
            row.fleet, seed: 1, for: away + .seconds(row.fleet > 1000 ? 160 : 300), row.outage)
        try fleet.run()
        let peaks = [StormFleet.Act.connect, .heartbeat, .refresh].map {
            fleet.peak($0, from: Self.start)
        }
        print("storm: \(row.testDescription): connects, heartbeats, refreshes \(peaks)")
        #expect(peaks.allSatisfy { $0 <= row.fleet / 20 })
        #expect(fleet.sessionsLost == 0)
        #expect(fleet.up == row.fleet)
    }

    @Test("is one for boards that are told to spread over nothing")
    func unspread() throws {
        var fleet = try StormFleet(
            200, seed: 1, spread: .zero, for: Self.start + .seconds(10),
            Self.outage(broker: 2))
        try fleet.run()
        #expect(fleet.peak(.connect, from: Self.start) > 50)
    }
}
