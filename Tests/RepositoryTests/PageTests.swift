import Foundation
import Testing

@Suite("Pages")
struct PageTests {
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
}
