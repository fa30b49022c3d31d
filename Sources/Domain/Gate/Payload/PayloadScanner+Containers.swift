/// Objects and arrays: their syntax, and the keys that they may have.
extension PayloadScanner {
    /// An object whose fields the rule lists.
    mutating func object(_ rules: FieldRules, depth: Int) throws(FieldFault) {
        try open(depth)
        // An update may omit members of the record, but it replaces a nested object as a whole.
        let requiresAll = requiresAll || depth > 1
        var seen = FieldSet()
        var hasMore = try hasFirst(end: UInt8(ascii: "}"))
        while hasMore {
            let key = try key()
            guard let index = rules.index(of: key, in: bytes) else {
                throw refusal(of: key, otherwise: .unknownField)
            }
            let field = rules.fields[index]
            guard !field.isClosed else { throw refusal(of: key, otherwise: .badKey) }
            guard seen.insert(index) else { throw FieldFault(.duplicateKey, at: field.name) }
            do throws(FieldFault) {
                try member(key, field.type, depth: depth)
            } catch {
                throw error.within(field.name)
            }
            hasMore = try hasNext(end: UInt8(ascii: "}"))
        }
        for index in rules.required where requiresAll && !seen.contains(index) {
            throw FieldFault(.missing, at: rules.fields[index].name)
        }
    }

    /// The fault of a key that is not allowed. A key that a server would obey gets its own fault.
    private func refusal(
        of key: ScannedString, otherwise kind: FieldFault.Kind
    ) -> FieldFault {
        do throws(FieldFault) {
            try checkKey(key)
            return FieldFault(kind, at: key.text(in: bytes))
        } catch {
            return error.within(key.text(in: bytes))
        }
    }

    /// An object without field rules. It may have any member that is not reserved for a server.
    mutating func freeObject(depth: Int) throws(FieldFault) {
        try open(depth)
        let start = openKeys.count
        if openKeys.isEmpty { openKeys.reserveCapacity(32) }
        defer { openKeys.removeLast(openKeys.count - start) }
        var hasMore = try hasFirst(end: UInt8(ascii: "}"))
        while hasMore {
            let key = try key()
            let opened = OpenKey(key, in: bytes)
            for index in start..<openKeys.count where openKeys[index].equals(opened, in: bytes) {
                throw FieldFault(.duplicateKey, at: key.text(in: bytes))
            }
            guard openKeys.count - start < Self.maxMembers else {
                throw FieldFault(.tooManyMembers)
            }
            openKeys.append(opened)
            do throws(FieldFault) {
                try checkKey(key)
                try member(key, .anything, depth: depth)
            } catch {
                throw error.within(key.text(in: bytes))
            }
            hasMore = try hasNext(end: UInt8(ascii: "}"))
        }
    }

    /// Refuses keys that a Parse server obeys, and keys that it cannot store.
    private func checkKey(_ key: ScannedString) throws(FieldFault) {
        for name in ["__op", "_method", "ACL"] where key.equals(name, in: bytes) {
            throw FieldFault(.serverKey(name))
        }
        if key.equals("__type", in: bytes) { return }
        guard key.isStorable(in: bytes) else { throw FieldFault(.badKey) }
    }

    /// The value of a key. Null passes if the field is optional.
    ///
    /// `className` and a batch's `requests` are checked by their key at any place, because a
    /// receiver may read members in any order.
    private mutating func member(
        _ key: ScannedString, _ field: FieldType, depth: Int
    ) throws(FieldFault) {
        try expect(UInt8(ascii: ":"))
        skipSpace()
        if key.equals("requests", in: bytes), next == UInt8(ascii: "[") {
            throw FieldFault(.serverKey("requests"))
        }
        if next == UInt8(ascii: "n"), field.isOptional {
            return try value(.null, depth: depth)
        }
        if next == UInt8(ascii: "\""),
            key.equals("className", in: bytes) || key.equals("redirectClassName", in: bytes)
        {
            let start = position
            let name = try string()
            if name.begins(with: UInt8(ascii: "_"), in: bytes) {
                throw FieldFault(.protectedClass(name.text(in: bytes)))
            }
            position = start
        }
        try value(field.value, depth: depth)
    }

    mutating func array(
        of element: ValueType, count range: CountRange, depth: Int
    ) throws(FieldFault) {
        try open(depth)
        var count = 0
        var hasMore = try hasFirst(end: UInt8(ascii: "]"))
        while hasMore {
            do throws(FieldFault) {
                try value(element, depth: depth)
            } catch {
                throw error.within("[\(count)]")
            }
            count += 1
            hasMore = try hasNext(end: UInt8(ascii: "]"))
        }
        guard range.contains(count) else {
            throw FieldFault(.outOfRange(expected: "\(range) elements"))
        }
    }

    mutating func open(_ depth: Int) throws(FieldFault) {
        guard depth <= Self.maxDepth else { throw FieldFault(.tooDeep) }
        position += 1
    }

    mutating func hasFirst(end: UInt8) throws(FieldFault) -> Bool {
        skipSpace()
        guard next == end, position < bytes.count else { return true }
        position += 1
        return false
    }

    mutating func hasNext(end: UInt8) throws(FieldFault) -> Bool {
        skipSpace()
        switch next {
        case end:
            position += 1
            return false
        case UInt8(ascii: ","):
            position += 1
            skipSpace()
            return true
        default: throw flaw(.unexpected)
        }
    }

    mutating func key() throws(FieldFault) -> ScannedString {
        guard next == UInt8(ascii: "\"") else { throw flaw(.unexpected) }
        let key = try string()
        skipSpace()
        return key
    }
}
