import Testing

@Suite("Names of types")
struct TypeNameTests {
    /// Names that two modules still share. The list only shrinks.
    private static let shared: Set = ["ExitStatus"]

    /// At the start of a line, so not inside of another type.
    private static var declaration: Regex<(Substring, Substring)> {
        /(?:[a-z@][^{(:]*? )?(?:struct|enum|class|actor|protocol|typealias) (\w+)/
    }

    @Test("are used for one type each")
    func unique() {
        var places: [Substring: [String]] = [:]
        for path in Repository.sourceFiles {
            for line in (Repository.code[path]?.text ?? "").split(separator: "\n") {
                guard line.first != " ",
                    !["private ", "fileprivate ", "import "].contains(where: line.hasPrefix),
                    let found = line.prefixMatch(of: Self.declaration)
                else { continue }
                places[found.1, default: []].append(path)
            }
        }
        // A reader that found nothing would find nothing wrong.
        #expect(places.count > 300)
        for (name, paths) in places where !Self.shared.contains(String(name)) {
            #expect(paths.count == 1, "\(name): \(paths)")
        }
    }
}
