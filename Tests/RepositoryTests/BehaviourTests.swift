import Testing

/// A page that says how Postern behaves names a test for each thing it promises.
@Suite("Behaviours")
struct BehaviourTests {
    private static let pages = ["Provisioning/SESSIONS.md", "Provisioning/POLICY.md"]
    private static var reference: Regex<(Substring, Substring, Substring)> {
        /`(Tests\/[^`]+)` "([^"]+)"/
    }

    /// The rows of the table of behaviours, without its head.
    private static func rows(of page: String) -> [Substring] {
        let lines = Repository.lines(page)
        guard let start = lines.firstIndex(of: "## Behaviours and their tests") else { return [] }
        return lines[start...].filter { $0.hasPrefix("|") }.dropFirst(2).map { $0 }
    }

    @Test("are each shown by a test that is there", arguments: pages)
    func tests(page: String) {
        let rows = Self.rows(of: page)
        #expect(rows.count >= 30)
        for row in rows {
            let named = row.matches(of: Self.reference)
            #expect(!named.isEmpty, "\(row)")
            for match in named {
                let text = Repository.text(String(match.1)) ?? ""
                #expect(text.contains(match.2), "\(match.1) has no \"\(match.2)\"")
            }
        }
    }
}
