package import Gate

/// What a payload must look like, told twice: to the scanner, and to `ReferenceJudge`.
package indirect enum Shape: Sendable {
    case value(ValueType)
    case object([String: Member])
    case objects([String: Member])

    package struct Member: Sendable {
        package let shape: Shape
        package let isOptional: Bool

        package init(_ shape: Shape, isOptional: Bool = false) {
            self.shape = shape
            self.isOptional = isOptional
        }
    }

    var type: ValueType {
        switch self {
        case .value(let type): type
        case .object(let members): .object(Self.rules(members))
        case .objects(let members): .array(.object(Self.rules(members)), .any)
        }
    }

    package static func rules(_ members: [String: Member]) -> FieldRules {
        FieldRules(members.mapValues { FieldType($0.shape.type, isOptional: $0.isOptional) })
    }
}

extension Shape {
    /// Members as the policy file writes them: `number(0..1)?`.
    package static func members(_ texts: KeyValuePairs<String, String>) -> [String: Member] {
        var members: [String: Member] = [:]
        for (name, text) in texts {
            guard let type = try? FieldType(text) else { continue }
            members[name] = Member(.value(type.value), isOptional: type.isOptional)
        }
        return members
    }

    /// Rules that between them ask for everything the language has.
    package static let samples: [[String: Member]] = [
        members([
            "celsius": "number(-40..85)", "unit": "enum(C|F|°C)?", "seq": "integer(0..)?",
            "ok": "boolean?", "none": "null?",
        ]),
        members(["v": "any?"]),
        [
            "at": Member(.object(members(["lat": "number(-90..90)", "name": "string(2..8)?"]))),
            "tags": Member(.value(.array(.string(.init(1, 4)), .init(nil, 3))), isOptional: true),
        ],
        ["samples": Member(.objects(members(["t": "integer", "v": "number?"])))],
        members([
            "v": "object?", "className": "string?", "requests": "any?", "ACL": "any?",
            "__type": "any?", "list": "array?", "a": "array(array(number(0..1)), 1..)?",
        ]),
        // More than a machine word has bits.
        Dictionary(uniqueKeysWithValues: (0..<130).map { number in
            ("f\(number)", Member(.value(.any), isOptional: number % 60 != 0))
        }),
    ]
}

extension CountRange {
    /// A range such as `1..4`; any range where that cannot be read back.
    fileprivate init(_ lower: Int?, _ upper: Int?) {
        let text = (lower.map { "\($0)" } ?? "") + ".." + (upper.map { "\($0)" } ?? "")
        guard case .string(let range) = ValueType("string(\(text))") else {
            self = .any
            return
        }
        self = range
    }
}
