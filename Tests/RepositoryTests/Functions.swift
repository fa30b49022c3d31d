/// A function, initialiser or subscript with a body.
struct Function {
    let name: String
    let firstLine: Int
    let lineCount: Int
}

extension SwiftText {
    private static let keywords = ["func", "init", "deinit", "subscript"]

    var functions: [Function] {
        var found: [Function] = []
        var line = 1
        var at = 0
        while at < code.count {
            if code[at] == UInt8(ascii: "\n") { line += 1 }
            if let keyword = keyword(at: at), let end = endOfBody(from: at + keyword.utf8.count) {
                let lines = code[at...end].count { $0 == UInt8(ascii: "\n") } + 1
                found.append(Function(name: name(at: at), firstLine: line, lineCount: lines))
            }
            at += 1
        }
        return found
    }

    /// A declaring keyword that stands here as a word of its own, at a statement's begin.
    private func keyword(at index: Int) -> String? {
        // Each keyword's first letter, so that most bytes are done with here.
        guard "fids".utf8.contains(code[index]) else { return nil }
        if index > 0, isWord(code[index - 1]) || code[index - 1] == UInt8(ascii: ".") {
            return nil
        }
        return Self.keywords.first { word in
            let end = index + word.utf8.count
            return end < code.count && code[index..<end].elementsEqual(word.utf8)
                && !isWord(code[end])
        }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "`"): true
        default: false
        }
    }

    private func name(at index: Int) -> String {
        String(decoding: code[index...].prefix { !"({<\n".utf8.contains($0) }, as: UTF8.self)
    }

    /// Where the body's brace closes; nil for a requirement, which has none.
    private func endOfBody(from start: Int) -> Int? {
        var parentheses = 0
        var at = start
        while at < code.count {
            switch code[at] {
            case UInt8(ascii: "("), UInt8(ascii: "["): parentheses += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): parentheses -= 1
            case UInt8(ascii: "{") where parentheses == 0: return closingBrace(from: at)
            case UInt8(ascii: "}") where parentheses == 0: return nil
            case UInt8(ascii: "\n") where parentheses == 0 && declares(after: at): return nil
            default: break
            }
            if parentheses < 0 { return nil }
            at += 1
        }
        return nil
    }

    /// Whether the next line begins another declaration.
    private func declares(after index: Int) -> Bool {
        let line = code[(index + 1)...].prefix { $0 != UInt8(ascii: "\n") }
        let words = line.split(separator: UInt8(ascii: " ")).map {
            String(decoding: $0, as: UTF8.self)
        }
        let starts = ["func", "init", "var", "let", "static", "mutating", "package", "private"]
        return words.first.map { word in
            (starts + ["case", "struct", "enum", "@", "init("]).contains { word.hasPrefix($0) }
        } ?? false
    }

    private func closingBrace(from start: Int) -> Int? {
        var depth = 0
        for at in start..<code.count {
            if code[at] == UInt8(ascii: "{") { depth += 1 }
            if code[at] == UInt8(ascii: "}") {
                depth -= 1
                if depth == 0 { return at }
            }
        }
        return nil
    }
}
