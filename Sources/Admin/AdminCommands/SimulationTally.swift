import Sessions
import Wire

/// What went wrong with one board's message, sorted by the layer that failed.
enum SimulationFault: Error, Hashable, Sendable {
    /// It could not be opened or sealed.
    case seal
    /// It was opened, and is not what the contract has.
    case contract(String)
    /// The authority refused, with this number.
    case refused(Int)
    /// The broker did not take it, or is gone.
    case broker(layer: String, text: String)
    /// The authority's HTTP did not do as it was asked.
    case claim(String)
    /// Repeated, and never answered.
    case silence

    var layer: String {
        switch self {
        case .seal: "seal"
        case .contract: "contract"
        case .refused: "session"
        case .broker(let layer, _): layer
        case .claim: "claim"
        case .silence: "authority"
        }
    }

    var text: String {
        switch self {
        case .seal: "a message that could not be opened"
        case .contract(let text), .broker(_, let text), .claim(let text): text
        case .refused(let code): "refused with \(code)" + Self.meaning(of: code)
        case .silence: "no answer"
        }
    }

    private static func meaning(of code: Int) -> String {
        switch ErrorCode(rawValue: code) {
        case .rateLimit: ", overloaded"
        case .notFound: ", not issued here"
        case .invalidSession: ", the session is over"
        default: ""
        }
    }
}

/// How often each fault was met; each kind once, so its room is bounded: layers and codes are few.
struct FaultLedger: Sendable {
    private var faults: [SimulationFault: Int] = [:]
    private static let kinds = 64

    var count: Int { faults.values.reduce(0, +) }

    mutating func note(_ fault: SimulationFault) { add(fault, 1) }

    mutating func merge(_ other: FaultLedger) {
        for (fault, count) in other.faults { add(fault, count) }
    }

    private mutating func add(_ fault: SimulationFault, _ count: Int) {
        let hasRoom = faults[fault] != nil || faults.count < Self.kinds
        faults[hasRoom ? fault : .contract("other faults"), default: 0] += count
    }

    /// The most frequent first.
    var sorted: [(SimulationFault, Int)] {
        faults.sorted { ($1.value, $0.key.text) < ($0.value, $1.key.text) }
            .map { ($0.key, $0.value) }
    }

    var json: JSONValue {
        .array(sorted.map { fault, count in
            .object([
                "layer": .string(fault.layer), "text": .string(fault.text),
                "count": .integer(Int64(count)),
            ])
        })
    }
}

/// How long answers took: quantiles in bounded room, an eighth too high at most.
struct AnswerTimes: Equatable, Sendable {
    /// In microseconds.
    private var histogram = LagHistogram()

    var count: Int64 { histogram.count }

    mutating func add(_ span: Duration) {
        let parts = span.components
        histogram.add(parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000)
    }

    mutating func merge(_ other: AnswerTimes) { histogram.merge(other.histogram) }

    /// Milliseconds within which so many of a hundred came; nil without any.
    func percentile(_ percent: Int64) -> Double? {
        histogram.percentile(percent).map { Double($0) / 1000 }
    }

    /// In milliseconds.
    var longest: Double { Double(histogram.longest) / 1000 }
}

/// What came of one span of load.
struct SimulationTally: Sendable {
    var heartbeats = AnswerTimes()
    var refreshes = AnswerTimes()
    /// Requests that had to be sent again.
    var repeated = 0
    /// Bytes of MQTT payload, requests and replies.
    var bytes = (requests: 0, replies: 0)
    private var ledger = FaultLedger()

    var answers: Int64 { heartbeats.count + refreshes.count }
    var faults: FaultLedger { ledger }
    var faultCount: Int { ledger.count }

    mutating func answered(_ request: SimulatedBoard.Request, after span: Duration) {
        switch request {
        case .heartbeat: heartbeats.add(span)
        case .refresh: refreshes.add(span)
        }
    }

    mutating func note(_ fault: SimulationFault) { ledger.note(fault) }

    mutating func merge(_ other: SimulationTally) {
        heartbeats.merge(other.heartbeats)
        refreshes.merge(other.refreshes)
        repeated += other.repeated
        bytes.requests += other.bytes.requests
        bytes.replies += other.bytes.replies
        ledger.merge(other.ledger)
    }
}

/// A tally with the time that it took, as it is shown.
struct SimulationReport {
    let mix: SimulationMix
    let tally: SimulationTally
    let begun: Timestamp
    let seconds: Double

    var lines: [String] {
        let kinds = [("heartbeats", tally.heartbeats), ("refreshes", tally.refreshes)]
        var lines: [String] = []
        for (name, times) in kinds where times.count > 0 {
            lines.append(
                "\(name): \(Self.round(rate(times))) a second (\(times.count)), "
                    + "p50 \(show(times, 50)), p95 \(show(times, 95)), p99 \(show(times, 99)), "
                    + "longest \(Self.round(times.longest)) ms")
        }
        if tally.repeated > 0 { lines.append("repeated after 10 s: \(tally.repeated)") }
        for (fault, count) in tally.faults.sorted {
            lines.append("\(fault.layer): \(fault.text): \(count)")
        }
        return lines
    }

    var json: JSONValue {
        .object([
            "mix": .string(mix.rawValue), "begunMs": .integer(begun.milliseconds),
            "seconds": .number(seconds), "heartbeats": json(of: tally.heartbeats),
            "refreshes": json(of: tally.refreshes), "repeated": .integer(Int64(tally.repeated)),
            "requestBytes": .number(mean(tally.bytes.requests)),
            "replyBytes": .number(mean(tally.bytes.replies)),
            "errors": tally.faults.json,
        ])
    }

    private func json(of times: AnswerTimes) -> JSONValue {
        var members: [String: JSONValue] = [
            "count": .integer(times.count), "perSecond": .number(Self.round(rate(times))),
        ]
        for percent in [50, 95, 99] as [Int64] {
            members["p\(percent)Ms"] = times.percentile(percent).map(JSONValue.number) ?? .null
        }
        members["longestMs"] = .number(times.longest)
        return .object(members)
    }

    /// Of one request or reply.
    private func mean(_ bytes: Int) -> Double {
        tally.answers > 0 ? Self.round(Double(bytes) / Double(tally.answers)) : 0
    }

    private func rate(_ times: AnswerTimes) -> Double {
        seconds > 0 ? Double(times.count) / seconds : 0
    }

    private func show(_ times: AnswerTimes, _ percent: Int64) -> String {
        times.percentile(percent).map { "\(Self.round($0)) ms" } ?? "none"
    }

    private static func round(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
