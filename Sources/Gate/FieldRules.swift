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

    package init(_ fields: [String: FieldType]) {
        self.fields = fields.map { name, type in
            Field(name: name, type: type, isClosed: FieldType.nameFault(name) != nil)
        }
        .sorted { $0.name < $1.name }
    }

    /// What is wrong with `payload`, or nil. One pass over the bytes, no tree.
    ///
    /// As in Parse, an update may leave any of the record's own fields away; an object or array
    /// that it names replaces the old one, and so must be whole. A delete without payload has no
    /// fields and passes; one with a payload is judged like an update.
    package func fault(in payload: [UInt8], of operation: Operation) -> FieldFault? {
        if operation == .delete, payload.isEmpty { return nil }
        return PayloadScanner.fault(
            in: payload, type: .object(self), requiresAll: operation == .create)
    }
}
