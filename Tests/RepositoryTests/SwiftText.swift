/// Swift source with its comments and string literals blanked: what is left is code, line for
/// line where it stood.
struct SwiftText {
    let code: [UInt8]

    init(_ source: String) {
        var blanker = Blanker(Array(source.utf8))
        blanker.run()
        code = blanker.bytes
    }

    var text: String { String(decoding: code, as: UTF8.self) }

    /// What it imports, without access level and attributes.
    var imports: Set<String> {
        var found: Set<String> = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let at = words.firstIndex(of: "import"), words[..<at].allSatisfy(Self.isPrefix)
            else { continue }
            let kinds = ["struct", "class", "enum", "func", "protocol", "var", "let", "typealias"]
            let name = words[(at + 1)...].first { !kinds.contains(String($0)) }
            if let module = name?.split(separator: ".").first { found.insert(String(module)) }
        }
        return found
    }

    private static func isPrefix(_ word: Substring) -> Bool {
        word.hasPrefix("@") || ["package", "public", "internal", "private"].contains(word)
    }
}

/// Walks over source and overwrites what is no code with spaces; line ends stay.
private struct Blanker {
    var bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func run() {
        while at < bytes.count { step() }
    }

    private mutating func step() {
        if starts(with: "//") {
            blank { $0 == UInt8(ascii: "\n") }
        } else if starts(with: "/*") {
            blankComment()
        } else if let hashes = literalHashes() {
            blankString(hashes: hashes)
        } else {
            at += 1
        }
    }

    private func starts(with text: String, offset: Int = 0) -> Bool {
        let start = at + offset
        let end = start + text.utf8.count
        return end <= bytes.count && bytes[start..<end].elementsEqual(text.utf8)
    }

    private mutating func erase(_ count: Int = 1) {
        for _ in 0..<count where at < bytes.count {
            if bytes[at] != UInt8(ascii: "\n") { bytes[at] = UInt8(ascii: " ") }
            at += 1
        }
    }

    private mutating func blank(until isEnd: (UInt8) -> Bool) {
        while at < bytes.count, !isEnd(bytes[at]) { erase() }
    }

    private mutating func blankComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                erase(2)
            } else if starts(with: "*/") {
                depth -= 1
                erase(2)
            } else {
                erase()
            }
        } while depth > 0 && at < bytes.count
    }

    /// How many `#` stand before a string literal that begins here; nil if none does.
    private func literalHashes() -> Int? {
        var count = 0
        while at + count < bytes.count, bytes[at + count] == UInt8(ascii: "#") { count += 1 }
        return starts(with: "\"", offset: count) ? count : nil
    }

    private mutating func blankString(hashes: Int) {
        let fence = String(repeating: "#", count: hashes)
        erase(hashes)
        let quote = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        erase(quote.utf8.count)
        while at < bytes.count, !starts(with: quote + fence) {
            if starts(with: "\\" + fence + "(") {
                erase(2 + hashes)
                skipInterpolation()
            } else {
                erase(starts(with: "\\" + fence) ? 2 + hashes : 1)
            }
        }
        erase(quote.utf8.count + hashes)
    }

    /// What stands in an interpolation is code, and stays.
    private mutating func skipInterpolation() {
        var depth = 1
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "(") { depth += 1 }
            if bytes[at] == UInt8(ascii: ")") {
                depth -= 1
                if depth == 0 { return erase() }
            }
            step()
        }
    }
}
