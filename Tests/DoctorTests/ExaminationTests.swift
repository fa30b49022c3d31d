import Sessions
import Testing
import Wire

@testable import Doctor

@Suite("Examination")
struct ExaminationTests {
    private struct Facts: Examined {
        enum Probe: Hashable { case broker, disk }
        var configuration = Finding.ok("fine")
        var broker = Finding.ok("fine")
        var disk = Finding.ok("fine")
    }

    private static let checks: [Check<Facts>] = [
        Check(
            id: "config", group: .configuration, about: "a file", why: "it matters"
        ) { $0.configuration },
        Check(
            id: "broker", group: .broker, about: "a broker", why: "it matters",
            needs: [.broker]
        ) { $0.broker },
        Check(
            id: "disk-space", group: .storage, about: "a disk", why: "it matters",
            needs: [.disk]
        ) { $0.disk },
    ]

    @Test("probes nothing that only a check left out would need")
    func probes() throws {
        #expect(try Examination(Self.checks, without: []).probes == [.broker, .disk])
        let rest = try Examination(Self.checks, without: ["broker"])
        #expect(rest.probes == [.disk])
        #expect(rest.report(Facts()).rows.map(\.check.id) == ["config", "disk-space"])
    }

    @Test("refuses an id that no check has, and names the nearest")
    func unknown() {
        #expect(throws: UnknownCheck(id: "disk-spcae", nearest: "disk-space")) {
            try Examination(Self.checks, without: ["disk-spcae"])
        }
    }

    private static let warning = Finding.warning("hm", next: "look")
    private static let failure = Finding.failed("no", next: "mend")

    @Test("ends as its worst finding says", arguments: [
        (Facts(), DoctorVerdict.ok, DoctorVerdict.ok),
        (Facts(disk: .skipped("unknown")), .ok, .ok),
        (Facts(disk: .note("weak")), .ok, .ok),
        (Facts(disk: warning), .warnings, .failed),
        (Facts(broker: failure, disk: warning), .failed, .failed),
        (Facts(configuration: failure, broker: failure), .badConfiguration, .badConfiguration),
        (Facts(configuration: warning), .warnings, .failed),
    ])
    private func verdict(facts: Facts, usual: DoctorVerdict, strict: DoctorVerdict) throws {
        let report = try Examination(Self.checks, without: []).report(facts)
        #expect(report.verdict() == usual)
        #expect(report.verdict(warningsAreErrors: true) == strict)
    }

    @Test("calls a run with notes and skipped checks ok")
    func notes() throws {
        let facts = Facts(broker: .skipped("unknown"), disk: .note("weak"))
        let report = try Examination(Self.checks, without: []).report(facts)
        #expect(report.json.asObject?["result"] == .string("ok"))
    }

    @Test("shows under what is not well why it matters, and the next step")
    func words() throws {
        let facts = Facts(broker: Self.failure, disk: .note("weak"))
        let report = try Examination(Self.checks, without: []).report(facts)
        #expect(report.lines == [
            "configuration", "  ✓ config            fine",
            "storage", "  i disk-space        weak",
            "broker", "  ✗ broker            no", "      why:  it matters",
            "      next: mend",
        ])
        let checks = report.json.asObject?["checks"]?.asArray ?? []
        #expect(report.json.asObject?["result"] == .string("failed"))
        #expect(checks.allSatisfy { $0.asObject?["why"] == .string("it matters") })
        #expect(checks.filter { $0.asObject?["next"] != nil }.count == 1)
    }
}
