import Foundation

/// Rows of figures under a heading.
struct Table {
    private let heads: [String]
    private let width: Int

    init(_ title: String, _ heads: [String], width: Int = 34) {
        self.heads = heads
        self.width = width
        print("\n" + title.padding(toLength: width, withPad: " ", startingAt: 0)
            + heads.map { Self.right($0) }.joined())
    }

    func row(_ name: String, _ figures: [String]) {
        print("  " + name.padding(toLength: width - 2, withPad: " ", startingAt: 0)
            + figures.map { Self.right($0) }.joined())
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 12 - text.count)) + text
    }
}

extension Double {
    /// With so many digits behind the point.
    func text(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
