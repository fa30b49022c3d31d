/// Rows for people: columns are aligned, and the widest give way on a narrow terminal.
struct Table {
    private let titles: [String]
    private var rows: [[String]] = []
    /// The least width to which a column is cut.
    private static let least = 8
    private static let gap = 2

    init(_ titles: String...) { self.titles = titles }

    /// Cells beyond the titles are left out, missing ones are empty.
    mutating func add(_ cells: String...) {
        let shown = cells.prefix(titles.count).map(Printable.line)
        rows.append(shown + Array(repeating: "", count: titles.count - shown.count))
    }

    var isEmpty: Bool { rows.isEmpty }

    /// The lines, no wider than `width` if that is possible; unlimited when it is nil.
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

    /// Takes a column at a time from the widest, until the table fits or nothing can give way.
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
