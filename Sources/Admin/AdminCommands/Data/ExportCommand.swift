import ArgumentParser
import Gate
import Sessions
import Wire

/// `postern export`: prints the records that the authority keeps of a board.
struct ExportCommand: Verb {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case csv, jsonl
    }

    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print what a board sent, as CSV or JSON lines.",
        discussion: """
            The authority keeps records for as long as its [data] keep says. They are printed in \
            the order in which the board wrote them. Times are UTC.
            """)

    @OptionGroup var place: Place
    @Option(help: BoardsCommand.boardHelp, completion: .boards)
    var board: String
    @Option(name: .customLong("class"), help: "Only records of this class.")
    var className: String?
    @Option(help: ArgumentHelp("Only what was written since then, such as 7d.", valueName: "span"))
    var since: Span?
    @Option(help: ArgumentHelp("Only what was written before then, such as 1d.",
                               valueName: "span"))
    var until: Span?
    @Option(help: "csv or jsonl.") var format = Format.csv

    func validate() throws {
        if let className, ClassName(className) == nil {
            throw ValidationError("\(className.prefix(32)) is not a class")
        }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let board = try await client.board(named: board).id
        let now = surroundings.now()
        var path = "/boards/\(board)/records?"
        if let className { path += "class=\(className)&" }
        if let since { path += "since=\((now - since.duration).milliseconds)&" }
        if let until { path += "until=\((now - until.duration).milliseconds)&" }
        var count = 0
        var fields: [String] = []
        var next: String? = ""
        while let after = next {
            let answer: JSONObject
            do throws(CommandFailure) {
                answer = try await client.own(
                    .get, path + (after.isEmpty ? "" : "after=\(after)"))
            } catch {
                if count > 0 {
                    surroundings.step(false, "incomplete: only \(count) records")
                }
                throw error
            }
            let records = try results(in: answer, ExportedRecord.init(json:))
            if count == 0 {
                fields = try decoding { () throws(WireError) in
                    try answer.optional("fields") { $0.asArray?.compactMap(\.asString) } ?? []
                }
                if format == .csv {
                    let head = ExportedRecord.columns + fields + ["payload"]
                    surroundings.out(CSVRow(cells: head).line)
                }
            }
            for record in records {
                switch format {
                case .csv: surroundings.out(CSVRow(cells: record.cells(fields)).line)
                case .jsonl: surroundings.out(record.line(of: board))
                }
            }
            count += records.count
            next = try decoding { () throws(WireError) in
                try answer.optional("next") { $0.asString }
            }
            if next != nil, let last = records.last {
                surroundings.draw?(
                    "\r\(count) records, up to \(surroundings.times.exact(last.written))")
            }
        }
        surroundings.draw?("\r\u{1B}[K")
        surroundings.step(true, "\(count) records")
    }
}

extension CSVRow {
    /// The row without its last line feed, which printing adds.
    fileprivate var line: String { text.dropLast() + "\r" }
}
