package import Logging
package import Sessions
import LinuxIO
import Wire

/// One entry of a program's log.
package struct LogEntry: Equatable, Sendable {
    package let level: Logger.Level
    package let message: String
    /// More facts, by name.
    package let fields: [String: String]

    package init(_ level: Logger.Level, _ message: String, _ fields: [String: String] = [:]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    /// Whether a person must see the entry. Less important entries never use up its limit.
    var isGrave: Bool { level >= .warning }
}

/// The format of an entry: always one line.
package enum LogLineForm: Sendable {
    /// A level and a text. The journal of the system adds the time.
    case text
    /// One JSON object: `time` (RFC 3339, UTC), `level`, `program`, `message`, and the fields.
    case json(program: String)

    package func line(_ entry: LogEntry, at time: Timestamp) -> String {
        switch self {
        case .text: Self.text(entry)
        case .json(let program): Self.json(entry, program, time)
        }
    }

    /// A peer may have written a part of the text, so it is kept to one line without escape codes.
    private static func text(_ entry: LogEntry) -> String {
        let fields = entry.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let words = ([entry.message] + fields).joined(separator: " ")
        return "\(entry.level): \(PlainText.line(words))"
    }

    private static func json(_ entry: LogEntry, _ program: String, _ time: Timestamp) -> String {
        var members = [
            ("time", ParseDate.print(time)), ("level", entry.level.rawValue),
            ("program", program), ("message", entry.message),
        ]
        let own = Set(members.map(\.0))
        for (name, value) in entry.fields.sorted(by: { $0.key < $1.key }) {
            members.append((own.contains(name) ? "field_\(name)" : name, value))
        }
        return "{" + members.map { name, value in
            string(name) + ":" + string(value)
        }.joined(separator: ",") + "}"
    }

    private static func string(_ text: String) -> String {
        JSONValue.string(PlainText.line(text)).text
    }
}
