/// Objects and arrays: what may stand in them, and what hides in them.
extension PayloadScanner {
    /// An object of which the rule lists each field.
    mutating func object(_ rules: FieldRules, depth: Int) throws(FieldFault) {
        try open(depth)
        // An update leaves members of the record away, but what it names it replaces whole.
        let requiresAll = requiresAll || depth > 1
        var isMissing = rules.fields.map { !$0.type.isOptional && requiresAll }
        var isSeen = [Bool](repeating: false, count: rules.fields.count)
        var hasMore = try hasFirst(end: UInt8(ascii: "}"))
        while hasMore {
            let key = try key()
            guard let index = rules.fields.firstIndex(where: { key.equals($0.name, in: bytes) })
            else { throw refusal(of: key, otherwise: .unknownField) }
            let field = rules.fields[index]
            guard !field.isClosed else { throw refusal(of: key, otherwise: .badKey) }
            guard !isSeen[index] else { throw FieldFault(.duplicateKey, at: field.name) }
            isSeen[index] = true
            do throws(FieldFault) {
                isMissing[index] = try member(key, field.type, depth: depth) && isMissing[index]
            } catch {
                throw error.within(field.name)
            }
            hasMore = try hasNext(end: UInt8(ascii: "}"))
        }
        if let index = isMissing.firstIndex(of: true) {
            throw FieldFault(.missing, at: rules.fields[index].name)
        }
    }

    /// A key that may not stand here: named for what it is, if a server would obey it.
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

    /// An object whose fields nobody lists: anything but what only a server may say.
    mutating func freeObject(depth: Int) throws(FieldFault) {
        try open(depth)
        let start = openKeys.count
        defer { openKeys.removeSubrange(start...) }
        var hasMore = try hasFirst(end: UInt8(ascii: "}"))
        while hasMore {
            let key = try key()
            let opened = OpenKey(key, in: bytes)
            guard !openKeys[start...].contains(opened) else {
                throw FieldFault(.duplicateKey, at: key.text(in: bytes))
            }
            guard openKeys.count - start < Self.maxMembers else {
                throw FieldFault(.tooManyMembers)
            }
            openKeys.append(opened)
            do throws(FieldFault) {
                try checkKey(key)
                _ = try member(key, FieldType(.any), depth: depth)
            } catch {
                throw error.within(key.text(in: bytes))
            }
            hasMore = try hasNext(end: UInt8(ascii: "}"))
        }
    }

    /// Refuses keys that a Parse server obeys or cannot store.
    private func checkKey(_ key: ScannedString) throws(FieldFault) {
        for name in ["__op", "_method", "ACL"] where key.equals(name, in: bytes) {
            throw FieldFault(.serverKey(name))
        }
        if key.equals("__type", in: bytes) { return }
        guard OpenKey(key, in: bytes).isStorable else { throw FieldFault(.badKey) }
    }

    /// The value behind a key; true if it is a null that stands for no value.
    ///
    /// `className` and a batch's `requests` are judged by their key, wherever they stand: a
    /// receiver may read them in any order.
    private mutating func member(
        _ key: ScannedString, _ field: FieldType, depth: Int
    ) throws(FieldFault) -> Bool {
        try expect(UInt8(ascii: ":"))
        skipSpace()
        if key.equals("requests", in: bytes), next == UInt8(ascii: "[") {
            throw FieldFault(.serverKey("requests"))
        }
        if next == UInt8(ascii: "n"), field.isOptional {
            try value(.null, depth: depth)
            return true
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
        return false
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

    private mutating func open(_ depth: Int) throws(FieldFault) {
        guard depth <= Self.maxDepth else { throw FieldFault(.tooDeep) }
        position += 1
    }

    private mutating func hasFirst(end: UInt8) throws(FieldFault) -> Bool {
        skipSpace()
        guard next == end, position < bytes.count else { return true }
        position += 1
        return false
    }

    private mutating func hasNext(end: UInt8) throws(FieldFault) -> Bool {
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

    private mutating func key() throws(FieldFault) -> ScannedString {
        guard next == UInt8(ascii: "\"") else { throw flaw(.unexpected) }
        let key = try string()
        skipSpace()
        return key
    }
}
