package import Sessions

/// A mistake in a payload, and its place.
package struct FieldFault: Error, Equatable, Sendable {
    /// The field, such as `position.lat` or `samples[3]`. Empty for the payload as a whole. The
    /// names come from the payload, each cut to 128 bytes.
    package private(set) var path: String
    package let kind: Kind

    init(_ kind: Kind, at path: String = "") {
        self.kind = kind
        self.path = path
    }

    package enum Kind: Equatable, Sendable {
        // The payload is not one JSON document with one clear meaning: 107.
        case notJSON(JSONFlaw, offset: Int)
        case duplicateKey
        case tooDeep
        // The payload is not what the rule expects: 111, 142, 119.
        case wrongType(expected: String)
        case missing
        case outOfRange(expected: String)
        case overflow
        case unknownField
        case tooManyMembers
        case tooManyValues
        // The payload has a key or class that only a server may set: 105, 119.
        case badKey
        case serverKey(String)
        case protectedClass(String)
    }

    /// The same fault with the name of the surrounding object or array in front.
    func within(_ parent: String) -> FieldFault {
        var fault = self
        if path.isEmpty {
            fault.path = parent
        } else if path.utf8.first == UInt8(ascii: "[") {
            fault.path = parent + path
        } else {
            fault.path = "\(parent).\(path)"
        }
        return fault
    }

    /// The contract's error code, which is Parse's.
    package var code: ErrorCode {
        switch kind {
        case .notJSON, .duplicateKey, .tooDeep: .invalidJSON
        case .wrongType: .wrongType
        case .missing, .outOfRange, .overflow, .tooManyMembers, .tooManyValues: .validation
        case .unknownField, .serverKey, .protectedClass: .forbidden
        case .badKey: .badKeyName
        }
    }
}

extension FieldFault.Kind {
    /// A sentence for people. It omits the field's name, which is shown beside it.
    var reason: String {
        switch self {
        case .notJSON(let flaw, let offset): "\(flaw.rawValue) at byte \(offset)"
        case .duplicateKey: "the same key twice in one object; send it once"
        case .tooDeep: "nested deeper than \(PayloadScanner.maxDepth) levels"
        case .wrongType(let expected): "the rule expects \(expected) here"
        case .missing: "the rule requires this field"
        case .outOfRange(let expected): "the rule allows \(expected) here"
        case .overflow: "a number too large for a double"
        case .unknownField: "the rule does not list this field; drop it, or add it to the rule"
        case .tooManyMembers: "more than \(PayloadScanner.maxMembers) keys in one object"
        case .tooManyValues: "more values than a message may have"
        case .badKey:
            "a key is 1 to 128 bytes, does not begin with _ and has no $, dot or control"
        case .serverKey(let key): "\"\(key)\" is set by the server only; drop it"
        case .protectedClass(let name): "points to the class \(name), which is closed to boards"
        }
    }
}

/// Why bytes are not JSON. The raw values are sentences for people.
package enum JSONFlaw: String, Sendable, CaseIterable {
    case truncated = "the JSON ends too early"
    case unexpected = "not JSON: unexpected character"
    case trailing = "text behind the JSON document"
    case badNumber = "not a JSON number"
    case badString = "a control character or a bad escape in a string"
    case badUTF8 = "not valid UTF-8"
    case loneSurrogate = "half of a surrogate pair"
}
