import Testing

/// `Provisioning/CONFIGURATION.md`, as its readers take it.
struct ConfigurationPage {
    /// One key of one table.
    struct Row: Sendable, CustomStringConvertible {
        /// With its tables, such as `bus.uri`; `*` is a table of any name.
        let path: String
        let type: String
        let standard: String
        let example: String

        var description: String { path }

        /// The default, where the code has it as a value.
        var value: String? { standard.quoted }

        /// What `one of` names.
        var choices: [String]? {
            guard type.hasPrefix("one of ") else { return nil }
            return type.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }
                .map { String($0.element) }
        }
    }

    /// The tables below `## file`, row by row.
    static func rows(of file: String) throws -> [Row] {
        var rows: [Row] = []
        var (isHere, table) = (false, "")
        for line in try lines() {
            if line.hasPrefix("## ") {
                isHere = line == "## \(file)"
            } else if line.hasPrefix("#### ") {
                table = "-"
            } else if let heading = line.after("### ") {
                table = heading.hasPrefix("`[") ? "\(heading.filter { !"`[]".contains($0) })." : ""
            } else if isHere, table != "-", line.hasPrefix("| `") {
                let cells = cells(of: line)
                rows.append(Row(
                    path: (table + (cells[0].quoted ?? "")).replacing("NAME", with: "*"),
                    type: cells[1], standard: cells[2], example: cells[3].quoted ?? ""))
            }
        }
        return rows
    }

    /// The cells of the presets, after each name.
    static func presets() throws -> [[String]] {
        try lines().drop { $0 != "#### Presets" }.filter { $0.hasPrefix("| `") }.prefix(4)
            .map { cells(of: $0).compactMap(\.quoted) }
    }

    private static func lines() throws -> [Substring] {
        let text = try #require(SampleFile.text("Provisioning/CONFIGURATION.md"))
        return text.split(separator: "\n")
    }

    private static func cells(of line: Substring) -> [String] {
        line.split(separator: "|").map { cell in
            String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }
}

extension String {
    /// What is between backticks, if nothing else is there.
    fileprivate var quoted: String? {
        let inner = dropFirst().dropLast()
        guard hasPrefix("`"), hasSuffix("`"), !inner.contains("`") else { return nil }
        return String(inner)
    }
}

extension Substring {
    fileprivate func after(_ prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
