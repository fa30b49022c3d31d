/// A text of a route. In it `{n}` means the text that the n-th wildcard of `from` matched.
package struct RouteText: Hashable, Sendable {
    private enum Part: Hashable {
        case text(String)
        /// Counted from 0.
        case wildcard(Int)
    }

    private let parts: [Part]

    init(literal text: String) { parts = [.text(text)] }

    /// Parses a text for a filter with `wildcards` wildcards. `{` and `}` have no other use.
    init(_ text: some StringProtocol, wildcards: Int) throws(GrammarError) {
        var parts: [Part] = []
        var rest = Substring(text).utf8[...]
        while !rest.isEmpty {
            let plain = rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "}") }
            rest = rest.dropFirst(plain.count)
            if !plain.isEmpty { parts.append(.text(String(Substring(plain)))) }
            guard !rest.isEmpty else { break }
            let braced = rest.prefix { $0 != UInt8(ascii: "}") }
            rest = rest.dropFirst(braced.count)
            let digits = String(Substring(braced.dropFirst()))
            guard braced.first == UInt8(ascii: "{"), rest.popFirst() != nil,
                let number = Int(digits), digits == "\(number)"
            else {
                throw GrammarError("{1} means the first wildcard of from; { and } have no"
                    + " other use")
            }
            guard (1...max(1, wildcards)).contains(number), wildcards > 0 else {
                throw GrammarError(
                    "{\(number)} means wildcard \(number) of from, which has \(wildcards)")
            }
            parts.append(.wildcard(number - 1))
        }
        self.parts = parts
    }

    /// The text if it names no wildcard, else nil.
    var literal: String? {
        wildcards.isEmpty ? text(captures: []) : nil
    }

    /// The indexes of the wildcards in the text, counted from 0.
    var wildcards: [Int] {
        parts.compactMap { if case .wildcard(let index) = $0 { index } else { nil } }
    }

    /// Whether the text is exactly one `{n}`.
    var isOneWildcard: Bool { parts.count == 1 && wildcards.count == 1 }

    /// The text that this was parsed from.
    var source: String {
        parts.map { part in
            switch part {
            case .text(let plain): plain
            case .wildcard(let index): "{\(index + 1)}"
            }
        }.joined()
    }

    func text(captures: [Substring]) -> String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .text(let plain): text += plain
            case .wildcard(let index):
                if captures.indices.contains(index) { text += captures[index] }
            }
        }
    }
}
