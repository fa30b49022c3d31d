/// The fields that an object may have; all others are refused, as Parse's `addField = false`.
package struct FieldRules: Equatable, Sendable {
    struct Field: Equatable, Sendable {
        let name: String
        let type: FieldType
        /// A name that no rule can open: the server's own, or one that a server cannot store.
        let isClosed: Bool
    }

    /// In the order of their names, so that the same rules judge in the same order.
    let fields: [Field]
    /// Where those stand that are not optional.
    let required: [Int]
    /// Of the names, in bytes: few keys are compared with more than one.
    private let lengths: [Int]

    package init(_ fields: [String: FieldType]) {
        self.fields = fields.map { name, type in
            Field(name: name, type: type, isClosed: FieldType.nameFault(name) != nil)
        }
        .sorted { $0.name < $1.name }
        required = self.fields.indices.filter { [fields = self.fields] in
            !fields[$0].type.isOptional
        }
        lengths = self.fields.map(\.name.utf8.count)
    }

    /// The place of the field that a key names.
    func index(of key: ScannedString, in bytes: [UInt8]) -> Int? {
        lengths.indices.first {
            lengths[$0] == key.decodedLength && key.equals(fields[$0].name, in: bytes)
        }
    }

    /// What is wrong with `payload`, or nil. One pass over the bytes, no tree.
    ///
    /// As in Parse, an update may leave any of the record's own fields away; an object or array
    /// that it names replaces the old one, and so must be whole. A delete without payload has no
    /// fields and passes; one with a payload is judged like an update.
    package func fault(in payload: [UInt8], of operation: Operation) -> FieldFault? {
        if operation == .delete, payload.isEmpty { return nil }
        return PayloadScanner.fault(in: payload, rules: self, requiresAll: operation == .create)
    }
}

/// Which fields of one object were seen. Allocates only where rules list more than 64.
struct FieldSet {
    private var first: UInt64 = 0
    private var others: Set<Int> = []

    func contains(_ index: Int) -> Bool {
        index < UInt64.bitWidth ? first >> UInt64(index) & 1 == 1 : others.contains(index)
    }

    /// Whether it was not there before.
    mutating func insert(_ index: Int) -> Bool {
        guard index < UInt64.bitWidth else { return others.insert(index).inserted }
        defer { first |= 1 << UInt64(index) }
        return !contains(index)
    }
}
