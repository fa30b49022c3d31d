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

    @Test("takes an id, or a name, or the unique beginning of an id", arguments: [
        ("3f1f7c0e", "1"), ("greenhouse", "1"), ("3fa0", "2"), ("3f", "3"), ("77777777", "4"),
        ("8888", "5"), ("99999", "6"), ("aaaa", "1"), ("", "nothing"), ("green", "nothing"),
        ("3f1f7c0e1", "nothing"), ("Shed", "nothing"), ("9", "6"), ("a", "1"),
    ])
    func order(text: String, result: String) {
        #expect(found(text) == result)
    }

    @Test("names all that match, with as much of their ids as tells them apart", arguments: [
        ("3f1f", "2 boards match 3f1f: greenhouse (3f1f7c0…), 3f (3f1f7c9…)"),
        ("shed", "2 boards match shed: shed (3fa0…), shed (7777…)"),
    ])
    func several(text: String, words: String) {
        #expect(found(text) == words)
    }

    @Test("takes no name before the id that begins with it")
    func namedLikeAnotherID() {
        let boards = NameSearch("boards", [
            .init("stolen", ids: ["3f1f7c0e-2b7a"], name: "greenhouse"),
            .init("thief's", ids: ["77777777-2b7a"], name: "3f1f7c0e"),
        ])
        guard case .several(let words) = boards.find("3f1f7c0e") else {
            Issue.record("two boards match")
            return
        }
        #expect(words == "2 boards match 3f1f7c0e: greenhouse (3f1f…), 3f1f7c0e (7777…)")
    }

    @Test("names five things and counts the others")
    func many() {
        let many = NameSearch("users", (10...18).map { .init($0, ids: ["aaaa\($0)"], name: nil) })
        guard case .several(let words) = many.find("aaaa") else {
            Issue.record("several users match")
            return
        }
        #expect(words
            == "9 users match aaaa: aaaa10, aaaa11, aaaa12, aaaa13, aaaa14, 4 more")
    }
}
