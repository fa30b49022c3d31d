/// The fields that an object may have. All others are refused, as with Parse's `addField = false`.
package struct FieldRules: Equatable, Sendable {
    struct Field: Equatable, Sendable {
        let name: String
        let type: FieldType
        /// No rule can open this name: it is the server's own, or a server cannot store it.
        let isClosed: Bool
    }

    /// Sorted by name, so that the same rules always check in the same order.
    let fields: [Field]
    /// The indexes of the fields that are not optional.
    let required: [Int]
    /// The lengths of the names in bytes. They save most comparisons of names.
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

    /// The index of the field with this key.
    func index(of key: ScannedString, in bytes: [UInt8]) -> Int? {
        lengths.indices.first {
            lengths[$0] == key.decodedLength && key.equals(fields[$0].name, in: bytes)
        }
    }

    /// The fault of `payload`, or nil. One pass over the bytes, without building a tree.
    ///
    /// As in Parse, an update may omit any of the record's own fields. An object or array in the
    /// update replaces the old one, and so must be complete. A delete without a payload passes. A
    /// delete with a payload is checked like an update.
    package func fault(in payload: [UInt8], of operation: Operation) -> FieldFault? {
        if operation == .delete, payload.isEmpty { return nil }
        return PayloadScanner.fault(in: payload, rules: self, requiresAll: operation == .create)
    }
}

/// The fields of one object that were seen. Allocates only if rules list more than 64 fields.
struct FieldSet {
    private var first: UInt64 = 0
    private var others: Set<Int> = []

    func contains(_ index: Int) -> Bool {
        index < UInt64.bitWidth ? first >> UInt64(index) & 1 == 1 : others.contains(index)
    }

    /// Returns whether the index is new.
    mutating func insert(_ index: Int) -> Bool {
        guard index < UInt64.bitWidth else { return others.insert(index).inserted }
        defer { first |= 1 << UInt64(index) }
        return !contains(index)
    }
}
