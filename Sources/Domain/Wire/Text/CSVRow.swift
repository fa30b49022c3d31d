/// One row of a table as text. Source: RFC 4180 §2.
package struct CSVRow: Sendable {
    private let cells: [String]

    package init(cells: [String]) { self.cells = cells }

    /// Ends with a line break.
    package var text: String { cells.map(Self.cell).joined(separator: ",") + "\r\n" }

    /// Quotes a cell if needed. Puts an apostrophe before a cell that a spreadsheet would read as a
    /// formula, also if a tab or a line break hides the formula. A number is none.
    private static func cell(_ text: String) -> String {
        let first = text.unicodeScalars.first
        let isFormula = first.map { "=+-@\t\r\n".unicodeScalars.contains($0) } ?? false
        let defused = isFormula && Double(text) == nil ? "'" + text : text
        guard defused.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) })
        else { return defused }
        var quoted = ""
        for scalar in defused.unicodeScalars {
            if scalar == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(scalar)
        }
        return "\"\(quoted)\""
    }
}
