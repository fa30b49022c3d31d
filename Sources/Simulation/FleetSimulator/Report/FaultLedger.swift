import MetricsServer
import MQTT
import Sessions
import Wire

/// A fault with one board's message, sorted by the layer that failed.
enum SimulationFault: Error, Hashable, Sendable {
    /// The message could not be opened or sealed.
    case seal
    /// The message was opened, but breaks the contract.
    case contract(String)
    /// The authority refused it with this code.
    case refused(Int)
    /// The broker refused it, or is gone.
    case broker(layer: String, text: String)
    /// The authority's HTTP API failed.
    case claim(String)
    /// It was repeated and never answered.
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
        case .invalidSession: ", the session has ended"
        default: ""
        }
    }
}

/// Counts each kind of fault. The number of kinds is limited, so the memory is limited too.
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

    /// Most frequent first.
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

/// Answer times as quantiles in limited memory. A value is at most one eighth too high.
struct AnswerTimes: Equatable, Sendable {
    /// In microseconds.
    private var histogram = LagHistogram()

    var count: Int64 { histogram.count }

    mutating func add(_ span: Duration) {
        let parts = span.components
        histogram.add(parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000)
    }

    mutating func merge(_ other: AnswerTimes) { histogram.merge(other.histogram) }

    /// The time in milliseconds in which this percentage of answers came; nil without answers.
    func percentile(_ percent: Int64) -> Double? {
        histogram.percentile(percent).map { Double($0) / 1000 }
    }

    /// In milliseconds.
    var longest: Double { Double(histogram.longest) / 1000 }
}

extension SimulationFault {
    init(_ error: MQTTError) {
        self = .broker(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
    }

    /// The fault for a PUBACK code of 0x80 or above. Source: MQTT 5 §3.4.2.1.
    init(refusedWith code: UInt8) {
        let layer = code == ReasonCode.notAuthorized ? "policy" : "MQTT"
        self = .broker(layer: layer, text: "a message was refused: \(ReasonCode.text(code))")
    }
}
