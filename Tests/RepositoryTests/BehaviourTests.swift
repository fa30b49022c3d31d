import Testing

/// The page that says how a session behaves names a test for each thing it promises.
@Suite("Behaviours")
struct BehaviourTests {
    private static let page = "Provisioning/SESSIONS.md"
    private static var reference: Regex<(Substring, Substring, Substring)> {
        /`(Tests\/[^`]+)` "([^"]+)"/
    }

    /// The rows of the table of behaviours, without its head.
    private static var rows: [Substring] {
        let lines = Repository.lines(page)
        guard let start = lines.firstIndex(of: "## Behaviours and their tests") else { return [] }
        return lines[start...].filter { $0.hasPrefix("|") }.dropFirst(2).map { $0 }
    }

    @Test("are each shown by a test that is there")
    func tests() {
        #expect(Self.rows.count >= 30)
        for row in Self.rows {
            let named = row.matches(of: Self.reference)
            #expect(!named.isEmpty, "\(row)")
            for match in named {
                let text = Repository.text(String(match.1)) ?? ""
                #expect(text.contains(match.2), "\(match.1) has no \"\(match.2)\"")
            }
        }
    }
}
