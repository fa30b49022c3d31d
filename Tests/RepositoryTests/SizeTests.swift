import Testing

@Suite("Size")
struct SizeTests {
    @Test("keeps every file within 400 lines")
    func files() {
        for path in Repository.swiftFiles {
            let count = Repository.lines(path).count
            #expect(count <= 400, "\(path) has \(count) lines")
        }
    }

    @Test("keeps every folder within 16 files")
    func folders() {
        let counts = Dictionary(
            Repository.swiftFiles.map { path in
                (path.split(separator: "/").dropLast().joined(separator: "/"), 1)
            },
            uniquingKeysWith: +)
        for (folder, count) in counts {
            #expect(count <= 16, "\(folder) has \(count) files")
        }
    }

    @Test("keeps every line within 100 characters")
    func lines() {
        for path in Repository.swiftFiles {
            for (number, line) in Repository.lines(path).enumerated() where line.utf8.count > 100 {
                #expect(line.count <= 100, "\(path):\(number + 1)")
            }
        }
    }

    @Test("keeps every function within 70 lines")
    func functions() {
        var seen = 0
        for path in Repository.swiftFiles {
            for function in Repository.code[path]?.functions ?? [] {
                seen += 1
                #expect(
                    function.lineCount <= 70,
                    "\(path):\(function.firstLine) \(function.name) has \(function.lineCount)")
            }
        }
        // A reader that found nothing would find nothing wrong.
        #expect(seen > Repository.swiftFiles.count)
    }

    @Test("leaves a main nothing but wiring", arguments: Repository.moduleFolders)
    func mains(folder: String) {
        let count = Repository.lines("\(folder)/main.swift").count
        #expect(count <= 100, "\(folder)/main.swift has \(count) lines")
    }

    @Test("measures a function as a reader would")
    func measures() {
        let text = SwiftText(
            """
            protocol P { func none() -> Int
                func nothing(_ a: [Int]) }
            struct S {
                init(a: Int = 1, b: () -> Void = { }) { // {
                    _ = "{ \\(b() ? "}" : "{") {"
                }
                func long() {
                    if true {
                    }
                }
            }
            """)
        #expect(text.functions.map(\.lineCount) == [3, 4])
        #expect(text.functions.map(\.firstLine) == [4, 7])
    }
}
