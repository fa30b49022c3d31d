package import Gate
package import Sessions

/// The units that a board's policy file names: by class, then by the path to the field.
///
/// Source: the wire contract, The board's report.
package struct DeclaredUnits: Equatable, Sendable {
    package let byClass: [ClassName: [String: FieldUnit]]

    /// The number of fields of all classes together.
    package static let limit = 64
    /// The length of a path in bytes. A longer one is nowhere shown.
    package static let pathLimit = 64
    package static let none = Self(byClass: [:])

    private init(byClass: [ClassName: [String: FieldUnit]]) { self.byClass = byClass }

    /// The units of rules that name their class. The first rule that names a field's unit counts.
    /// None if there are more than `limit`.
    package init(_ policy: Policy?) {
        var byClass: [ClassName: [String: FieldUnit]] = [:]
        for rule in policy?.rules ?? [] {
            guard let className = rule.className else { continue }
            let units = rule.units.filter { $0.key.utf8.count <= Self.pathLimit }
            guard !units.isEmpty else { continue }
            byClass[className, default: [:]].merge(units) { first, _ in first }
        }
        let count = byClass.values.reduce(0) { $0 + $1.count }
        self.init(byClass: count <= Self.limit ? byClass : [:])
    }

    init(json: JSONValue) throws(WireError) {
        guard let classes = json.asObject, classes.count <= Self.limit else {
            throw .mistyped("units")
        }
        var byClass: [ClassName: [String: FieldUnit]] = [:]
        var count = 0
        for (name, value) in classes {
            guard let className = ClassName(name), let fields = value.asObject, !fields.isEmpty
            else { throw .mistyped("units") }
            count += fields.count
            guard count <= Self.limit else { throw .mistyped("units") }
            var units: [String: FieldUnit] = [:]
            for (path, value) in fields {
                guard Self.isPath(path), let unit = value.asString.flatMap({ FieldUnit($0) })
                else { throw .mistyped("units") }
                units[path] = unit
            }
            byClass[className] = units
        }
        self.init(byClass: byClass)
    }

    private static func isPath(_ text: String) -> Bool {
        text.utf8.count <= pathLimit
            && text.split(separator: ".", omittingEmptySubsequences: false)
                .allSatisfy { FieldType.nameFault(String($0)) == nil }
    }

    package var json: JSONValue {
        let classes = byClass.map { name, units in
            (name.description, JSONValue.object(units.mapValues { .string($0.description) }))
        }
        return .object(Dictionary(classes) { first, _ in first })
    }
}
