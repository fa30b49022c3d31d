/// A table for people: its columns are aligned, and the widest are cut on a narrow terminal.
struct TextTable {
    private let titles: [String]
    private var rows: [[String]] = []
    /// A column is never cut below this width.
    private static let least = 8
    private static let gap = 2

    init(_ titles: String...) { self.titles = titles }

    /// Extra cells are left out; missing cells are empty.
    mutating func add(_ cells: String...) {
        let shown = cells.prefix(titles.count).map(Printable.cell)
        rows.append(shown + Array(repeating: "", count: titles.count - shown.count))
    }

    var isEmpty: Bool { rows.isEmpty }

    /// The lines, no wider than `width` if possible. Nil means no limit.
    func lines(width: Int?) -> [String] {
        let all = [titles] + rows
        var widths = titles.indices.map { column in
            all.map { Printable.width($0[column]) }.max() ?? 0
        }
        if let width { Self.shrink(&widths, to: width) }
        return all.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                let cut = Printable.cut(cell, to: width)
                let padding = width - Printable.width(cut) + Self.gap
                line += cut + String(repeating: " ", count: max(0, padding))
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Takes one column at a time from the widest, until the table fits or no column can shrink.
    private static func shrink(_ widths: inout [Int], to width: Int) {
        var excess = widths.reduce(0, +) + gap * (widths.count - 1) - width
        while excess > 0 {
            guard let widest = widths.max(), widest > least,
                let column = widths.firstIndex(of: widest)
            else { return }
            widths[column] -= 1
            excess -= 1
        }
    }
}
