package import Sessions
package import Wire

extension Reading {
    /// A message that came at `now`. Nil if its payload is too large to be read.
    package init?(
        _ payload: [UInt8], _ path: RecordPath, sequence: Int64?, of board: InstallationID,
        at now: Timestamp
    ) {
        guard payload.count <= LiveContent.payloadLimit else { return nil }
        let content = LiveContent(payload)
        self.init(
            board: board, className: path.className, operation: path.operation,
            record: path.record, at: now, sequence: sequence, values: content.values,
            text: content.text)
    }
}

/// The parts of a payload that can be shown: its numbers, and the rest as a text. A payload without
/// numbers is a text as a whole. Never fails: it accepts any bytes.
package struct LiveContent: Equatable, Sendable {
    /// A field that is not a number, such as `state: open`.
    package struct Word: Equatable, Sendable {
        package let path: String
        package let text: String
    }

    package private(set) var values: [String: Double] = [:]
    package private(set) var text: String?
    package private(set) var words: [Word] = []

    /// The maximum size of a payload in bytes. A larger one is counted but not read.
    package static let payloadLimit = 64 * 1024
    static let textLimit = 512
    static let valueLimit = 16
    static let depthLimit = 4
    static let fieldLimit = 64

    package init(_ payload: [UInt8]) {
        if let json = Self.json(payload) { collect(json, path: "", depth: 0) }
        if values.isEmpty {
            text = Self.text(payload)
        } else if !words.isEmpty {
            let all = words.map { "\($0.path): \($0.text)" }.joined(separator: ", ")
            text = Self.text(Array(all.utf8))
        }
    }

    private static func json(_ payload: [UInt8]) -> JSONValue? {
        // Do not parse a payload that cannot contain numbers.
        guard let first = payload.first(where: { !" \t\r\n".utf8.contains($0) }),
            "{-0123456789".utf8.contains(first)
        else { return nil }
        do throws(WireError) {
            return try JSONValue(parsing: payload, limit: payloadLimit)
        } catch {
            return nil
        }
    }

    /// Collects members sorted by name. So if there are too many, it always takes the same ones.
    private mutating func collect(_ value: JSONValue, path: String, depth: Int) {
        guard values.count < Self.valueLimit else { return }
        switch value {
        case .integer(let number): add(Double(number), at: path)
        case .number(let number): add(number, at: path)
        case .object(let members):
            guard depth < Self.depthLimit else { return }
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                let inner = path.isEmpty ? name : "\(path).\(name)"
                guard inner.utf8.count <= Self.fieldLimit else { continue }
                collect(member, path: inner, depth: depth + 1)
            }
        case .bool(let flag): say(flag ? "true" : "false", at: path)
        case .string(let word): say(word, at: path)
        case .null, .array: break
        }
    }

    private mutating func add(_ number: Double, at path: String) {
        guard number.isFinite else { return }
        values[path.isEmpty ? "value" : path] = number
    }

    private mutating func say(_ word: String, at path: String) {
        guard words.count < Self.valueLimit else { return }
        words.append(Word(path: path, text: String(word.prefix(Self.textLimit))))
    }

    private static func text(_ payload: [UInt8]) -> String {
        guard let text = String(validating: payload, as: UTF8.self) else {
            return "\(payload.count) bytes"
        }
        let visible = text.unicodeScalars.prefix(textLimit).map { scalar in
            scalar.properties.generalCategory == .control && scalar != "\n" ? " " : scalar
        }
        return String(String.UnicodeScalarView(visible))
    }
}
