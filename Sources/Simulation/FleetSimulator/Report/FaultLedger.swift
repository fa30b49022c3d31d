import MetricsServer
import MQTT
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

extension SimulationFault {
    init(_ error: MQTTError) {
        self = .broker(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
    }

    /// A PUBACK's code from 0x80 on. Source: MQTT 5 §3.4.2.1.
    init(refusedWith code: UInt8) {
        let layer = code == ReasonCode.notAuthorized ? "policy" : "MQTT"
        self = .broker(layer: layer, text: "a message was refused: \(ReasonCode.text(code))")
    }
}
