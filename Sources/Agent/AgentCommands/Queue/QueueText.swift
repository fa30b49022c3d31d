import AgentCore
import Gate
import Sessions
import Wire

/// Text about the outbox, made from an answer of the agent.
enum QueueText {
    /// Whether writes are held or were lost.
    static func isDegraded(_ answer: JSONObject) -> Bool {
        answer.text("hold") != nil || answer.text("fault") != nil || number("dead", answer) > 0
            || lost(answer) > 0
    }

    static func lines(_ answer: JSONObject) -> [String] {
        let queue = (try? answer.object("queue")) ?? JSONObject([:])
        let rows: [(String, String?)] = [
            ("queue", size(queue)),
            ("file", queue.members["fileBytes"]?.asInteger.map(bytes)),
            ("written", written(queue)),
            ("card", wear(answer)),
            ("oldest", oldest(queue)),
            ("rate", rate(queue)),
            ("lasts", lasts(queue)),
            ("held", held(answer)),
            ("lost", losses(answer)),
            ("gaps", gaps(answer)),
            ("dead", dead(answer)),
        ]
        return rows.compactMap { name, text in
            text.map { name + String(repeating: " ", count: 11 - name.count) + $0 }
        }
    }

    static func size(_ queue: JSONObject) -> String {
        let limit = queue.members["limit"]?.asInteger
        let used = queue.members["bytes"]?.asInteger ?? 0
        let share = limit.map { limit in
            " of \(bytes(limit)) (\(Int64(min(Double(used) * 100 / Double(max(limit, 1)), 1e6))) %)"
        } ?? ""
        return "\(queue.shown("messages")) messages, \(bytes(used))" + share
    }

    /// The bytes that the store wrote to disk: today, per day, and yesterday.
    static func written(_ queue: JSONObject) -> String? {
        guard let today = queue.members["writtenToday"]?.asInteger else { return nil }
        let rate = queue.members["writtenPerDay"]?.asInteger
            .map { ", at a rate of \(bytes($0)) a day" } ?? ""
        let before = queue.members["writtenYesterday"]?.asInteger
            .map { ", \(bytes($0)) yesterday" } ?? ""
        return "\(bytes(today)) today (UTC)" + rate + before
    }

    static func wear(_ answer: JSONObject) -> String? {
        answer.members["wear"]?.asInteger.map { "at most \($0) % of its life used, as it reports" }
    }

    static func oldest(_ queue: JSONObject) -> String? {
        guard let time = try? queue.time("oldest") else { return nil }
        let age = queue.members["oldestAge"]?.asInteger.map { ", \(span($0)) ago" } ?? ""
        return "\(CalendarText.utc(time)) UTC" + age
    }

    static func lasts(_ queue: JSONObject) -> String? {
        guard let hours = real(queue.members["hoursLeft"]) else { return nil }
        return "\(span(Int64(min(hours, 1_000_000) * 3600))) at the present rate"
    }

    static func held(_ answer: JSONObject) -> String? {
        if let fault = answer.text("fault") { return "NOTHING IS FORWARDED: \(fault)" }
        guard let hold = answer.text("hold") else { return nil }
        let next = answer.members["retryIn"]?.asInteger.map { ", next try in \(span($0))" } ?? ""
        return hold + next
    }

    /// The messages that the upstream broker acknowledged and refused.
    static func upstream(_ answer: JSONObject) -> String {
        let taken = answer.members["lastForwarded"]?.asInteger.map { number in
            "acknowledged to message \(number) of \(answer.shown("lastSequence")), "
        } ?? ""
        return taken + answer.shown("refusedUpstream") + " refused by the broker"
    }

    static func losses(_ answer: JSONObject) -> String? {
        let total = lost(answer)
        guard total > 0, let losses = try? answer.object("losses") else { return nil }
        let classes = list(losses.members["classes"])
        return "\(total) accepted messages in total: \(list(losses.members["causes"]))"
            + (classes.isEmpty ? "" : "; dropped by class: \(classes)")
    }

    static func dead(_ answer: JSONObject) -> String? {
        let count = number("dead", answer)
        return count > 0 ? "\(count) messages that no broker accepts: see --dead" : nil
    }

    private static func gaps(_ answer: JSONObject) -> String? {
        guard let losses = try? answer.object("losses"),
            let ranges = losses.members["ranges"]?.asArray, !ranges.isEmpty
        else { return nil }
        return ranges.compactMap { range in
            guard let pair = range.asArray, pair.count == 2, let first = pair[0].asInteger,
                let last = pair[1].asInteger
            else { return nil }
            return first == last ? "\(first)" : "\(first)-\(last)"
        }.joined(separator: ", ")
    }

    private static func rate(_ queue: JSONObject) -> String? {
        guard let into = real(queue.members["bytesPerSecondIn"]),
            let out = real(queue.members["bytesPerSecondOut"])
        else { return nil }
        return "\(bytes(Int64(min(into, 1e15)))) a second in, "
            + "\(bytes(Int64(min(out, 1e15)))) a second out"
    }

    private static func list(_ value: JSONValue?) -> String {
        let counts = (value?.asObject ?? [:]).compactMapValues(\.asInteger).filter { $0.value > 0 }
        return counts.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }
            .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func lost(_ answer: JSONObject) -> Int64 {
        (try? answer.object("losses"))?.members["total"]?.asInteger ?? 0
    }

    private static func number(_ name: String, _ answer: JSONObject) -> Int64 {
        answer.members[name]?.asInteger ?? 0
    }

    private static func real(_ value: JSONValue?) -> Double? {
        switch value {
        case .number(let number): number.isFinite && number >= 0 ? number : nil
        case .integer(let number): number >= 0 ? Double(number) : nil
        default: nil
        }
    }

    /// `12.3 MiB`; below 10 KiB in bytes.
    static func bytes(_ count: Int64) -> String {
        for (name, size): (String, Int64) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        where count >= 10 * 1024 && count >= size {
            let tenths = (Double(count) / Double(size) * 10).rounded() / 10
            return "\(tenths) \(name)"
        }
        return "\(count) bytes"
    }

    /// The two largest units: `2 d 3 h`, `5 min`, `40 s`.
    static func span(_ seconds: Int64) -> String {
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"),
            (seconds % 60, "s"),
        ]
        guard let first = parts.firstIndex(where: { $0.0 > 0 }) else { return "0 s" }
        return parts[first...].prefix(2).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            .joined(separator: " ")
    }
}

/// The dead letters as a table, without their payloads.
enum DeadLetterTable {
    static func lines(_ answer: JSONObject) -> [String] {
        guard let letters = answer.members["deadLetters"]?.asArray else {
            return ["the dead letters cannot be read"]
        }
        guard !letters.isEmpty else { return ["no dead letters"] }
        let head = ["SEQ", "ACCEPTED (UTC)", "APP", "CLASS", "BYTES", "REASON", "TOPIC"]
        let rows = [head] + letters.compactMap(\.asObject).map { row(JSONObject($0)) }
        let widths = head.indices.dropLast().map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count + 2)
            }.joined() + (row.last ?? "")
        }
    }

    private static func row(_ letter: JSONObject) -> [String] {
        [
            letter.shown("seq"), (try? letter.time("time")).map(CalendarText.utc) ?? "-",
            letter.shown("app"), letter.shown("class"), letter.shown("bytes"),
            letter.shown("reason"), letter.shown("topic"),
        ].map(printable)
    }

    /// A topic may contain control characters, which a terminal would obey.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { scalar in
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : scalar
        }))
    }
}
