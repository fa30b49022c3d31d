package import Gate
package import Sessions
import Wire

extension Agent {
    /// The outbox's report for `queue show`; also part of `status`.
    ///
    /// The loop and the store add the values that only they know: the file, the dead letters, and
    /// the next try of a held queue.
    package func queueReport(at instant: Instant) -> [String: JSONValue] {
        var report: [String: JSONValue] = [:]
        if case .object(let health) = health(up: true, at: instant).json,
            case .object(var queue)? = health["queue"]
        {
            queue["limit"] = .integer(settings.queueLimit)
            report["queue"] = .object(queue)
        }
        report["dead"] = .integer(outbox.queue.dead)
        report["losses"] = outbox.queue.losses.json
        report["hold"] = uplink.hold.map { .string("\($0)") } ?? .null
        report["uplink"] = .string(uplink.text)
        return report
    }
}

extension QueueLosses {
    /// `ranges` are pairs of the first and the last number.
    package var json: JSONValue {
        let named = causes.map { ($0.key.rawValue, JSONValue.integer($0.value)) }
        return .object([
            "total": .integer(total),
            "causes": .object(Dictionary(named) { first, _ in first }),
            "classes": .object(drops.mapValues(JSONValue.integer)),
            "ranges": .array(ranges.map {
                .array([.integer($0.lowerBound), .integer($0.upperBound)])
            }),
        ])
    }
}
