package import Sessions

/// The results of a simulated fleet, for people and for programs.
///
/// Provisioning/SIMULATE.md describes its JSON members.
package struct FleetReport: Sendable {
    var plan: FleetPlan
    let begun: Timestamp
    var pairingSeconds = 0.0
    var seconds = 0.0
    /// The processor seconds of this program, while pairing and under load.
    var pairingProcessor = 0.0
    var processor = 0.0
    var claims = AnswerTimes()
    var pairing = FleetTally()
    var load = FleetTally()
    var standing = FleetState()
    var telemetry = TelemetryCount()

    var violations: FaultLedger {
        var all = pairing.violations
        all.merge(load.violations)
        if telemetry.missing > 0 {
            all.note(.contract("\(telemetry.missing) telemetry messages are missing"))
        }
        if telemetry.malformed > 0 {
            all.note(.contract("\(telemetry.malformed) telemetry messages were changed"))
        }
        return all
    }

    var errors: FaultLedger {
        var all = pairing.errors
        all.merge(load.errors)
        return all
    }

    /// Boards that have a session but no connection at the end.
    var stranded: Int { standing.stranded }
    var unpaired: Int { plan.boards - standing.paired }

    /// The verdict at the end.
    package enum Verdict: Equatable, Sendable {
        case right
        case silent
        case wrong(String)
    }

    package var verdict: Verdict {
        guard pairing.heartbeats.answered + load.heartbeats.answered > 0 else { return .silent }
        guard violations.count + unpaired + stranded > 0 else { return .right }
        return .wrong("\(violations.count) violations, \(unpaired) boards have no "
            + "session, \(stranded) are not connected")
    }
}

// For people.
extension FleetReport {
    package var lines: [String] {
        var lines = [
            "boards: \(plan.boards), paired \(standing.paired), alive \(standing.alive), "
                + "revoked \(standing.over)",
            "pairing: \(Self.round(pairingSeconds)) s, "
                + "\(rate(standing.paired, pairingSeconds)) a second; claims "
                + quantiles(claims),
        ]
        lines += [("heartbeats", load.heartbeats), ("refreshes", load.refreshes)].map(line)
        lines += faultLines
        lines.append(telemetryLine)
        lines.append(
            "connections: \(load.disconnects) ended, \(load.cuts) cut in \(load.storms) storms, "
                + "at most \(load.peakTries) attempts a second "
                + "(\(percent(load.peakTries)) of the fleet)")
        for (title, ledger) in [("error", errors), ("WRONG", violations)] {
            lines += ledger.sorted.map { "\(title): \($0.layer): \($0.text): \($1)" }
        }
        lines.append(
            "this program: \(percent(processor, of: seconds)) of a core under load, "
                + "\(percent(pairingProcessor, of: pairingSeconds)) while pairing, "
                + "\(plan.threads) threads")
        return lines
    }

    private func line(_ name: String, _ tally: RequestTally) -> String {
        "\(name): \(rate(tally.answered, seconds)) a second (\(tally.answered) of "
            + "\(tally.asked)), \(quantiles(tally.times)); repeated \(tally.repeated), "
            + "overloaded \(tally.overloaded), cut \(tally.cut)"
    }

    private var faultLines: [String] {
        let kinds = [
            ("replies lost", load.lostReplies), ("replays", load.replays),
            ("thefts", load.thefts), ("wrong clocks", load.clocks),
        ]
        var lines = kinds.filter { $1.injected > 0 }.map { name, tally in
            "\(name): \(tally.injected) injected, \(tally.right) right, \(tally.wrong) wrong, "
                + "\(tally.open) open"
        }
        if load.thefts.injected > 0 {
            lines.append("thieves refused with 209: \(load.thievesTold)")
        }
        let idle = plan.faults.thieves - load.thefts.injected
        if idle > 0 {
            lines.append("thieves: \(idle) of \(plan.faults.thieves) did not strike: no live "
                + "board had refreshed its token by then")
        }
        return lines
    }

    private var telemetryLine: String {
        let sent = "telemetry: \(telemetry.made) made, \(telemetry.acknowledged) acknowledged"
        guard telemetry.isChecked else { return sent + ", not checked" }
        return sent + ", \(telemetry.seen) seen, \(telemetry.missing) missing, "
            + "\(telemetry.duplicates) twice, \(telemetry.unjudged) not checked"
    }

    private func quantiles(_ times: AnswerTimes) -> String {
        guard times.count > 0 else { return "none" }
        let shown = ([50, 90, 99] as [Int64]).map { percent in
            "p\(percent) \(times.percentile(percent).map(Self.round) ?? 0)"
        }
        return shown.joined(separator: ", ") + ", longest \(Self.round(times.longest)) ms"
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double {
        seconds > 0 ? Self.round(Double(count) / seconds) : 0
    }

    private func percent(_ count: Int) -> String {
        percent(Double(count), of: Double(max(1, plan.boards)))
    }

    private func percent(_ part: Double, of whole: Double) -> String {
        "\(whole > 0 ? Self.round(part / whole * 100) : 0) %"
    }

    private static func round(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}

// For programs.
extension FleetReport {
    package var json: JSONValue {
        .object([
            "begunMs": .integer(begun.milliseconds), "seed": .string(String(plan.seed)),
            "seconds": .number(seconds), "pairingSeconds": .number(pairingSeconds),
            "connections": .integer(Int64(plan.boards)),
            "boards": .object([
                "asked": .integer(Int64(plan.boards)),
                "paired": .integer(Int64(standing.paired)),
                "alive": .integer(Int64(standing.alive)),
                "over": .integer(Int64(standing.over)),
                "endedByOthers": .integer(Int64(load.endedByOthers)),
                "notConnected": .integer(Int64(stranded)),
                "unsettled": .integer(Int64(standing.unsettled)),
            ]),
            "claims": json(of: claims, over: pairingSeconds),
            "heartbeats": json(of: load.heartbeats), "refreshes": json(of: load.refreshes),
            "lostReplies": json(of: load.lostReplies), "replays": json(of: load.replays),
            "thefts": json(of: load.thefts), "clocks": json(of: load.clocks),
            "thieves": .integer(Int64(plan.faults.thieves)),
            "thievesTold": .integer(Int64(load.thievesTold)),
            "requestBytes": .number(mean(load.bytes.requests, \.asked)),
            "replyBytes": .number(mean(load.bytes.replies, \.answered)),
            "telemetry": telemetryJSON, "reconnects": reconnectsJSON,
            "errors": errors.json, "violations": violations.json,
            "processor": .object([
                "seconds": .number(processor), "pairingSeconds": .number(pairingProcessor),
                "threads": .integer(Int64(plan.threads)),
            ]),
        ])
    }

    private func mean(_ bytes: Int, _ each: KeyPath<RequestTally, Int>) -> Double {
        let count = load.heartbeats[keyPath: each] + load.refreshes[keyPath: each]
        return count > 0 ? Self.round(Double(bytes) / Double(count)) : 0
    }

    private func json(of times: AnswerTimes, over seconds: Double) -> JSONValue {
        .object(quantileMembers(times).merging([
            "count": .integer(times.count),
            "perSecond": .number(rate(Int(times.count), seconds)),
        ]) { $1 })
    }

    private func json(of tally: RequestTally) -> JSONValue {
        .object(quantileMembers(tally.times).merging([
            "asked": .integer(Int64(tally.asked)), "answered": .integer(Int64(tally.answered)),
            "perSecond": .number(rate(tally.answered, seconds)),
            "repeated": .integer(Int64(tally.repeated)),
            "overloaded": .integer(Int64(tally.overloaded)), "cut": .integer(Int64(tally.cut)),
        ]) { $1 })
    }

    private func quantileMembers(_ times: AnswerTimes) -> [String: JSONValue] {
        var members: [String: JSONValue] = ["longestMs": .number(times.longest)]
        for percent in [50, 90, 99] as [Int64] {
            members["p\(percent)Ms"] = times.percentile(percent).map(JSONValue.number) ?? .null
        }
        return members
    }

    private func json(of tally: InjectionTally) -> JSONValue {
        .object([
            "injected": .integer(Int64(tally.injected)), "right": .integer(Int64(tally.right)),
            "wrong": .integer(Int64(tally.wrong)), "open": .integer(Int64(tally.open)),
        ])
    }

    private var telemetryJSON: JSONValue {
        .object([
            "made": .integer(telemetry.made), "acknowledged": .integer(telemetry.acknowledged),
            "checked": .bool(telemetry.isChecked), "seen": .integer(telemetry.seen),
            "missing": .integer(telemetry.missing), "twice": .integer(telemetry.duplicates),
            "notJudged": .integer(telemetry.unjudged),
            "malformed": .integer(telemetry.malformed), "foreign": .integer(telemetry.foreign),
        ])
    }

    private var reconnectsJSON: JSONValue {
        .object([
            "ended": .integer(Int64(load.disconnects)), "cut": .integer(Int64(load.cuts)),
            "storms": .integer(Int64(load.storms)), "made": .integer(Int64(load.connects)),
            "peakPerSecond": .integer(Int64(load.peakTries)),
            "peakShare": .number(Double(load.peakTries) / Double(max(1, plan.boards))),
        ])
    }
}
