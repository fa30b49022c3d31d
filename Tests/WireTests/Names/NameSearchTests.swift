import Testing
import Wire

@Suite("Name search")
struct NameSearchTests {
    private var boards: NameSearch<Int> {
        NameSearch("boards", [
            .init(1, ids: ["3f1f7c0e", "aaaa"], name: "greenhouse"),
            .init(2, ids: ["3fa07c0e"], name: "shed"),
            .init(3, ids: ["3f1f7c9e"], name: "3f"),
            .init(4, ids: ["77777777"], name: "shed"),
            .init(5, ids: ["88888888"], name: "77777777"),
            .init(6, ids: ["99999999"], name: nil),
        ])
    }

    private func found(_ text: String) -> String {
        switch boards.find(text) {
        case .found(let number): "\(number)"
        case .nothing: "nothing"
        case .several(let words): words
        }
    }

    @Test("takes an id, then a name, then the unique beginning of an id", arguments: [
        ("3f1f7c0e", "1"), ("greenhouse", "1"), ("3fa", "2"), ("3f", "3"), ("77777777", "4"),
        ("8", "5"), ("9", "6"), ("aa", "1"), ("aaaa", "1"), ("", "nothing"), ("green", "nothing"),
        ("3f1f7c0e1", "nothing"), ("Shed", "nothing"),
    ])
    func order(text: String, result: String) {
        #expect(found(text) == result)
    }

    @Test("names all that match, with as much of their ids as tells them apart", arguments: [
        ("3", "3 boards begin with 3: greenhouse (3f1f7c0…), shed (3fa07c0…), 3f (3f1f7c9…)"),
        ("3f1f", "2 boards begin with 3f1f: greenhouse (3f1f7c0…), 3f (3f1f7c9…)"),
        ("shed", "2 boards are called shed: shed (3fa0…), shed (7777…)"),
    ])
    func several(text: String, words: String) {
        #expect(found(text) == words)
    }

    @Test("names five things and counts the others")
    func many() {
        let many = NameSearch("users", (10...18).map { .init($0, ids: ["a\($0)"], name: nil) })
        guard case .several(let words) = many.find("a") else {
            Issue.record("several users match")
            return
        }
        #expect(words == "9 users begin with a: a10, a11, a12, a13, a14, 4 more")
    }
}
