package import Sessions
package import Wire

extension Reading {
    /// A message that came at `now`. Nil if its payload is too large to be read. Without
    /// `writtenAt` it was written now.
    package init?(
        _ payload: [UInt8], _ path: RecordPath, sequence: Int64?, of board: InstallationID,
        at now: Timestamp, writtenAt: Timestamp? = nil
    ) {
        guard payload.count <= LiveContent.payloadLimit else { return nil }
        let content = LiveContent(payload)
        self.init(
            board: board, className: path.className, operation: path.operation,
            record: path.record, at: now, writtenAt: writtenAt ?? now, sequence: sequence,
            values: content.values, texts: content.texts, text: content.text)
    }
}

/// The parts of a payload that can be shown: its numbers and its texts by field, and what is no
/// number as one text. A payload without numbers is a text as a whole. Never fails: it accepts any
/// bytes.
package struct LiveContent: Equatable, Sendable {
    package private(set) var values: [String: Double] = [:]
    /// The fields that are not numbers, such as `state`: `open`. A payload without any field is the
    /// field `value`.
    package private(set) var texts: [String: String] = [:]
    package private(set) var text: String?

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
            if texts.isEmpty { texts["value"] = text }
        } else if !texts.isEmpty {
            let all = texts.sorted { $0.key < $1.key }.map { "\($0): \($1)" }
            text = Self.visible(all.joined(separator: ", "))
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
        case .bool(let flag): add(flag ? "true" : "false", at: path)
        case .string(let word): add(word, at: path)
        case .null, .array: break
        }
    }

    private mutating func add(_ number: Double, at path: String) {
        guard number.isFinite else { return }
        values[path.isEmpty ? "value" : path] = number
    }

    private mutating func add(_ word: String, at path: String) {
        guard texts.count < Self.valueLimit else { return }
        texts[path.isEmpty ? "value" : path] = Self.visible(word)
    }

    private static func text(_ payload: [UInt8]) -> String {
        guard let text = String(validating: payload, as: UTF8.self) else {
            return "\(payload.count) bytes"
        }
        return visible(text)
    }

    private static func visible(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(textLimit).map { scalar in
            scalar.properties.generalCategory == .control && scalar != "\n" ? " " : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
