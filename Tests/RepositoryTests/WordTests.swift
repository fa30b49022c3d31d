import Foundation
import Testing

@Suite("Words")
struct WordTests {
    /// Put together here, so that this file is no finding of its own.
    private static let unfinished = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]
    private static let traps = ["fatalError(", "try!", "as!", "preconditionFailure("]
    private static var nouns: Regex<Substring> {
        /\w*(?:Utils?|Helpers?|Manager|Common)(?:[A-Z_.+]\w*)?/
    }
    private static var declaration: Regex<(Substring, Substring)> {
        /\b(?:struct|class|enum|actor|protocol|typealias|extension)\s+(\w+)/
    }

    /// Where the word `unsafe` may stand: where C is touched, and where secrets are wiped.
    private static let unsafeModules: Set = [
        "AgentStore", "Cryptography", "HTTPClient", "LinuxIO", "MQTT", "PostgreSQLClient",
        "QRCode", "TPM",
    ]
    private static let unsafeFiles: Set = [
        "Sources/Domain/Sessions/SecretBytes.swift",
        "Sources/Libraries/PosternSession/Storage/DurableFile.swift",
        "Sources/Libraries/PosternSession/Storage/KeychainStorage.swift",
        "Sources/Authority/AuthorityHTTP/TLS/TLSServerConnection.swift",
        "Sources/Authority/AuthorityHTTP/TLS/TLSServerContext.swift",
    ]

    @Test("leaves nothing for later")
    func unfinished() {
        for path in Repository.sourceFiles + ["Makefile", "README.md"] {
            let text = Repository.text(path) ?? ""
            let found = Self.unfinished.filter { text.contains($0) }
            #expect(found.isEmpty, "\(path)")
        }
    }

    @Test("traps on no input")
    func traps() {
        for path in Repository.sourceFiles {
            let code = Repository.code[path]?.text ?? ""
            let found = Self.traps.filter { code.contains($0) }
            #expect(found.isEmpty, "\(path)")
        }
    }

    @Test("names things by a noun of their own")
    func names() {
        for path in Repository.sourceFiles {
            let file = String(path.split(separator: "/").last?.dropLast(6) ?? "")
            #expect(file.wholeMatch(of: Self.nouns) == nil, "\(path)")
            let code = Repository.code[path]?.text ?? ""
            for match in code.matches(of: Self.declaration) {
                #expect(match.1.wholeMatch(of: Self.nouns) == nil, "\(path): \(match.1)")
            }
        }
    }

    /// The board's one-time memory is read, by its firmware, and never written: of the firmware's
    /// requests about it only these two stand in the code.
    /// Source: github.com/raspberrypi/utils, rpifwcrypto/rpifwcrypto.h.
    @Test("asks a Raspberry Pi's firmware for nothing that writes")
    func firmware() {
        var tags: Set<String> = []
        for path in Repository.sourceFiles {
            let text = (Repository.text(path) ?? "").replacing("_", with: "").lowercased()
            for match in text.matches(of: /0x(000[0-9a-f]{5})\b/) { tags.insert(String(match.1)) }
        }
        #expect(Set(tags.filter { $0.hasPrefix("0003") }) == ["00030090", "00030092"])
    }

    @Test("says unsafe only where C is touched")
    func unsafe() {
        for path in Repository.sourceFiles {
            let module = path.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
            if Self.unsafeModules.contains(module) || Self.unsafeFiles.contains(path) { continue }
            let code = Repository.code[path]?.text ?? ""
            let isSafe = !code.contains(/\bunsafe\b|Unsafe\w*Pointer/)
            #expect(isSafe, "\(path)")
        }
    }

    /// Words that were once used here for something that has a plain word, or the field's word.
    private static var lostWords: Regex<Substring> {
        /\b(?:anew|[Ww]hoever|[Cc]hores?|[Cc]ouriers?|[Ss]helf|[Nn]udge[ds]?|stands|his|he)\b/
    }

    /// The comments of a file, each as one line.
    private static func comments(of path: String) -> [String] {
        let lines = Repository.lines(path).map { $0.drop { $0 == " " } }
        return lines.split { !$0.hasPrefix("//") }.map { lines in
            lines.map { $0.drop { $0 == "/" || $0 == " " } }.joined(separator: " ")
        }
    }

    @Test("speaks plainly in its comments")
    func plainly() {
        var seen = 0
        for path in Repository.sourceFiles {
            for comment in Self.comments(of: path) {
                for sentence in comment.split(whereSeparator: { ".;:?!".contains($0) }) {
                    seen += 1
                    let count = sentence.split(separator: " ").count
                    #expect(count <= 30, "\(path): \(sentence)")
                }
                let lost = comment.replacing(/`[^`]*`/, with: "").firstMatch(of: Self.lostWords)
                #expect(lost == nil, "\(path): \(comment)")
            }
        }
        #expect(seen > 5000)
    }

    @Test("name sections of the contract that are there")
    func sections() {
        let sections = Repository.lines("Provisioning/PROTOCOL.md").filter { $0.hasPrefix("#") }
            .map { $0.drop { $0 == "#" || $0 == " " } }
        var seen = 0
        for path in Repository.sourceFiles {
            let text = (Repository.text(path) ?? "").replacing(#/\n */// /#, with: " ")
            for match in text.matches(of: /[Ss]ource: the wire contract, ([A-Z][^.;\(`]*)/) {
                seen += 1
                let isThere = sections.contains { match.1.hasPrefix($0) }
                #expect(isThere, "\(path): \(match.1)")
            }
        }
        #expect(seen > 20)
    }
}

@Suite("Repository")
struct RepositoryTests {
    @Test("has these rooms at its top and no others")
    func topLevel() {
        #expect(
            Repository.topLevel == [
                ".ci", ".gitignore", "Devices", "LICENSE", "Makefile", "Package.swift",
                "Provisioning", "README.md", "Sources", "Tests",
            ])
    }

    @Test("names no place of the machine that it was written on")
    func machinePaths() {
        let places = ["wo" + "rk", "ro" + "ot", "ho" + "me"].map { "/\($0)/" }
        for path in Repository.files() {
            guard let text = Repository.text(path) else { continue }
            let named = places.filter { text.contains($0) }
            #expect(named.isEmpty, "\(path)")
        }
    }

    @Test(
        "can be run where it must",
        arguments: [".ci/run", "Tests/run", "Tests/Fuzz/run", "Devices/simulated/vitals"])
    func executable(path: String) {
        let file = Repository.root.appending(path: path).path
        #expect(FileManager.default.isExecutableFile(atPath: file))
    }
}
