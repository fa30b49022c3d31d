import Testing

@Suite("Names of types")
struct TypeNameTests {
    /// Names that two modules still share. The list only shrinks.
    private static let shared: Set = ["ExitStatus"]

    /// Words for which the field has another one. No type's name contains one.
    private static let replaced = [
        "Figure", "Journal", "Diagnosis", "Chore", "Courier", "Shelf", "Glance", "Nudge",
        "Farewell", "Crier", "Doorkeeper", "Wish", "Standing", "Unbegun",
    ]

    /// At the start of a line, so not inside of another type.
    private static var declaration: Regex<(Substring, Substring)> {
        /(?:[a-z@][^{(:]*? )?(?:struct|enum|class|actor|protocol|typealias) (\w+)/
    }

    /// The files that declare a type, by its name.
    private static let places = {
        var places: [Substring: [String]] = [:]
        for path in Repository.sourceFiles {
            for line in (Repository.code[path]?.text ?? "").split(separator: "\n") {
                guard line.first != " ",
                    !["private ", "fileprivate ", "import "].contains(where: line.hasPrefix),
                    let found = line.prefixMatch(of: declaration)
                else { continue }
                places[found.1, default: []].append(path)
            }
        }
        return places
    }()

    @Test("are found")
    func found() { #expect(Self.places.count > 300) }

    @Test("are used for one type each")
    func unique() {
        for (name, paths) in Self.places where !Self.shared.contains(String(name)) {
            #expect(paths.count == 1, "\(name): \(paths)")
        }
    }

    @Test("have no word that the glossary replaces")
    func words() {
        for (name, paths) in Self.places {
            #expect(!Self.replaced.contains(where: name.contains), "\(name): \(paths)")
        }
    }
}
