@testable import FleetSimulator
import MQTT
import Sessions
import Testing
import Wire

@Suite("Patience with a pairing")
struct PairingPatienceTests {
    @Test("lasts as long as boards are claimed, paired or put off, and a minute more")
    func over() {
        var patience = PairingPatience(since: .zero)
        func isOver(_ seconds: Int, _ paired: Int, _ claimed: Int, _ putOff: Int = 0) -> Bool {
            patience.isOver(
                paired: paired, claimed: claimed, putOff: putOff, at: .seconds(seconds))
        }
        #expect(!isOver(60, 0, 0))
        #expect(!isOver(61, 0, 1))
        #expect(!isOver(121, 1, 2))
        // More are claimed than have their sessions, which is no progress by itself.
        #expect(!isOver(181, 1, 2))
        #expect(isOver(182, 1, 2))
        #expect(!isOver(183, 1, 2, 1))
        #expect(isOver(244, 1, 2))
    }
}

@Suite("A fleet's summary")
struct FleetReportTests {
    private func report(_ change: (inout FleetReport) -> Void = { _ in }) throws -> FleetReport {
        let uri = try BrokerURI("mqtt://127.0.0.1")
        let plan = FleetPlan(
            boards: 100, root: .standard, uri: uri, tls: TLSOptions(), version: "1",
            wall: { Timestamp(milliseconds: 0) })
        var report = FleetReport(plan: plan, begun: Timestamp(milliseconds: 0))
        (report.pairingSeconds, report.seconds, report.processor) = (10, 20, 5)
        report.standing.paired = 100
        report.standing.alive = 100
        report.load.heartbeats.asked = 40
        report.load.heartbeats.answered = 40
        for _ in 0..<40 { report.load.heartbeats.times.add(.milliseconds(8)) }
        report.load.tries = [7: 4, 8: 3]
        change(&report)
        return report
    }

    private func member(_ path: String..., of report: FleetReport) -> JSONValue? {
        path.reduce(report.json) { $0?.asObject?[$1] }
    }

    @Test("has rates, quantiles and the peak of reconnects")
    func figures() throws {
        let text = try report().lines.joined(separator: "\n")
        #expect(text.contains("heartbeats: 2.0 a second (40 of 40), p50 8.0"))
        #expect(text.contains("at most 4 attempts a second (4.0 % of the fleet)"))
        #expect(text.contains("25.0 % of a core under load"))
        #expect(text.contains("telemetry: 0 made, 0 acknowledged, not checked"))
        #expect(!text.contains("WRONG") && !text.contains("thefts"))
    }

    @Test("says the same to programs")
    func json() throws {
        let report = try report { report in
            report.load.thefts = InjectionTally(injected: 3, right: 2)
            report.load.errors.note(.refused(155))
        }
        #expect(member("heartbeats", "perSecond", of: report) == .number(2))
        #expect(member("heartbeats", "p99Ms", of: report) == .number(8))
        #expect(member("thefts", "open", of: report) == .integer(1))
        #expect(member("reconnects", "peakShare", of: report) == .number(0.04))
        #expect(member("boards", "paired", of: report) == .integer(100))
        #expect(member("errors", of: report) == .array([.object([
            "layer": .string("session"), "text": .string("refused with 155, overloaded"),
            "count": .integer(1),
        ])]))
    }

    @Test("says how many thieves did not strike", arguments: [0, 4, 5])
    func thieves(injected: Int) throws {
        let report = try report { report in
            report.plan.faults.thieves = 5
            report.load.thefts = InjectionTally(injected: injected, right: injected)
        }
        let text = report.lines.joined(separator: "\n")
        #expect(text.contains("thieves: \(5 - injected) of 5 did not strike") == (injected < 5))
        #expect(member("thieves", of: report) == .integer(5))
        #expect(member("thefts", "injected", of: report) == .integer(Int64(injected)))
    }

    @Test("is right where errors were got over")
    func recovered() throws {
        let report = try report { $0.load.errors.note(.broker(layer: "TCP", text: "refused")) }
        #expect(report.verdict == .right)
    }

    @Test("is wrong where anything was", arguments: 0..<5)
    func wrong(kind: Int) throws {
        let report = try report { report in
            switch kind {
            case 0: report.load.violations.note(.contract("a thief got new tokens"))
            case 1: report.standing.paired = 99
            case 2: report.standing.stranded = 1
            case 3: report.telemetry.missing = 2
            default: report.pairing.violations.note(.seal)
            }
        }
        #expect(report.verdict != .right && report.verdict != .silent)
    }

    @Test("is silent where nothing came")
    func nothing() throws {
        #expect(try report { $0.load.heartbeats = RequestTally() }.verdict == .silent)
    }

    @Test("adds the parts of a fleet up")
    func merged() {
        var (one, other) = (FleetTally(), FleetTally())
        one.tries = [1: 2, 2: 1]
        other.tries = [2: 4]
        one.heartbeats.times.add(.milliseconds(1))
        other.heartbeats.times.add(.milliseconds(9))
        other.thefts = InjectionTally(injected: 2, right: 1, wrong: 1)
        one.merge(other)
        #expect(one.peakTries == 5)
        #expect(one.heartbeats.times.count == 2)
        #expect(one.thefts.open == 0 && one.thefts.wrong == 1)
    }
}
