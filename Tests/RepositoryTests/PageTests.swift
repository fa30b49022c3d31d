import Foundation
import Testing

@Suite("Pages")
struct PageTests {
    private static var link: Regex<(Substring, Substring)> { /\]\(([^)\s#]+)[^)\s]*\)/ }

    @Test("begin with a README of at most 200 lines")
    func readme() {
        let count = Repository.lines("README.md").count
        #expect(count <= 200, "README.md has \(count) lines")
    }

    @Test("have pictures below 150 kB")
    func pictures() throws {
        let pictures = Repository.files(below: "Provisioning/images")
        #expect(pictures.contains("Provisioning/images/board.png"))
        for path in pictures {
            let size = try Data(contentsOf: Repository.root.appending(path: path)).count
            #expect(size < 150_000, "\(path) has \(size) bytes")
        }
    }

    @Test("link to what is there")
    func links() {
        let pages = Repository.files(endingWith: ".md")
        #expect(pages.count > 20)
        for page in pages {
            let folder = Repository.root.appending(path: page).deletingLastPathComponent()
            for match in (Repository.text(page) ?? "").matches(of: Self.link) {
                // An address elsewhere is not asked for.
                if match.1.contains(":") { continue }
                let target = folder.appending(path: String(match.1)).standardizedFileURL.path
                let isThere = FileManager.default.fileExists(atPath: target)
                #expect(isThere, "\(page) links to \(match.1)")
            }
        }
    }
}
