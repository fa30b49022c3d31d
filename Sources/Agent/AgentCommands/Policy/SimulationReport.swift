import AgentCore
import Gate
import Sessions
import Wire

/// The result of a simulation, as text and as JSON.
struct SimulationReport {
    let simulation: PolicySimulation
    let rules: [Rule]
    let malformed: Int
    let blank: Int
    let file: String

    /// The most rows of refusals in the text. JSON has all.
    private static let shownRows = 50

    var lines: [String] {
        var lines = ["\(time(simulation.span?.lowerBound)) to \(time(simulation.span?.upperBound))"]
        lines.append("""
            \(simulation.writes) writes seen: \(simulation.allowed) allowed, \
            \(simulation.refused) refused
            """)
        lines += passedOver
        let refusals = simulation.refusals
        if !refusals.isEmpty { lines.append("") }
        lines += table(refusals.prefix(Self.shownRows))
        let more = refusals.dropFirst(Self.shownRows).reduce(simulation.untoldRefusals) {
            $0 + $1.count
        }
        if more > 0 { lines.append("\(more) × others") }
        return lines + unused
    }

    /// The table of refusals, with the first example under each row.
    private func table(_ rows: ArraySlice<RefusalRow>) -> [String] {
        guard !rows.isEmpty else { return [] }
        let head = ["refused", "app", "op", "class", "code", "rule"]
        let cells = [head] + rows.map { row in
            [
                "\(row.count)", row.names.app, row.names.operation, row.names.className,
                "\(row.code)", row.rule,
            ].map { $0.isEmpty ? "-" : $0 }
        }
        let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        var lines = cells.map { row in
            zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ").trimmed
        }
        for (index, row) in rows.enumerated().reversed() {
            let field = row.field.map { " (\($0))" } ?? ""
            lines.insert(
                "  first \(time(row.time)) on \(row.topic): \(row.reason)\(field)", at: index + 2)
        }
        return lines
    }

    private var passedOver: [String] {
        let counts = [
            (simulation.retained, "retained"), (simulation.otherTopics, "on other topics"),
            (malformed, "in malformed lines"), (blank, "blank lines"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        var lines = counts.isEmpty ? [] : ["not judged: " + counts.joined(separator: ", ")]
        if simulation.rewritten > 0 || blank > 0 {
            lines.append("""
                %J rewrites payloads, with an empty line for one that is not JSON; record with \
                %j to check the original payloads
                """)
        }
        return lines
    }

    /// The rules that no write matched, then those that refused nothing.
    private var unused: [String] {
        let unmatched = rules.filter { simulation.use(of: $0.id).matched == 0 }
        let silent = rules.filter { rule in
            let use = simulation.use(of: rule.id)
            return use.matched > 0 && use.refused == 0
        }
        var lines: [String] = []
        if !(unmatched + silent).isEmpty { lines.append("") }
        for rule in unmatched { lines.append("\(rule.id) matched nothing: \(rule.subject)") }
        for rule in silent {
            lines.append("""
                \(rule.id) refused nothing of \(simulation.use(of: rule.id).matched): \
                \(rule.subject)
                """)
        }
        return lines
    }

    var json: JSONValue {
        .object([
            "file": .string(file), "from": json(simulation.span?.lowerBound),
            "to": json(simulation.span?.upperBound),
            "messages": .integer(Int64(simulation.messages)),
            "writes": .integer(Int64(simulation.writes)),
            "allowed": .integer(Int64(simulation.allowed)),
            "refused": .integer(Int64(simulation.refused)),
            "retained": .integer(Int64(simulation.retained)),
            "otherTopics": .integer(Int64(simulation.otherTopics)),
            "rewritten": .integer(Int64(simulation.rewritten)),
            "malformed": .integer(Int64(malformed)), "blank": .integer(Int64(blank)),
            "refusals": .array(simulation.refusals.map(json)),
            "untoldRefusals": .integer(Int64(simulation.untoldRefusals)),
            "rules": .array(rules.map { rule in
                let use = simulation.use(of: rule.id)
                return .object([
                    "rule": .string(rule.id.description), "matched": .integer(Int64(use.matched)),
                    "refused": .integer(Int64(use.refused)),
                ])
            }),
        ])
    }

    private func json(_ row: RefusalRow) -> JSONValue {
        .object([
            "app": .string(row.names.app), "class": .string(row.names.className),
            "op": .string(row.names.operation), "rule": .string(row.rule),
            "code": .integer(Int64(row.code)), "count": .integer(Int64(row.count)),
            "first": .object([
                "time": json(row.time), "topic": .string(row.topic),
                "error": .string(row.reason),
                "field": row.field.map(JSONValue.string) ?? .null,
            ]),
        ])
    }

    private func json(_ time: Duration?) -> JSONValue {
        time.map { .string(self.time($0)) } ?? .null
    }

    private func time(_ time: Duration?) -> String {
        time.map { ParseDate.print(Timestamp(milliseconds: $0.milliseconds)) } ?? "-"
    }
}

extension String {
    /// Without the spaces at its end.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
