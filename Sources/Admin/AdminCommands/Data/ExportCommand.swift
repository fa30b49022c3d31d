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
            the order in which the board wrote them. Times are UTC. If the authority is busy or \
            restarts, the command waits and reads on.
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
    @Option(
        help: ArgumentHelp(
            "Write to this file instead of standard output. It appears when it is complete.",
            valueName: "file"),
        completion: .file())
    var out: String?
    @Flag(help: "Replace the file of --out.") var force = false

    func validate() throws {
        if let className, ClassName(className) == nil {
            throw ValidationError("\(className.prefix(32)) is not a class")
        }
        guard out != nil || !force else { throw ValidationError("--force goes with --out") }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let output = try ExportOutput(out, replaces: force, in: surroundings)
        let board = try await client.board(named: board, orFormer: true).id
        var progress = Progress()
        do throws(CommandFailure) {
            try await copy(board, PageReading(client, surroundings), to: output, &progress)
            try output.finish()
        } catch {
            surroundings.draw?(CommandEnvironment.blankLine)
            if let out {
                surroundings.step(
                    false, "\(out) was not written, after \(progress.count) records")
            } else if progress.count > 0 {
                surroundings.step(false, "incomplete: only \(progress.count) records")
            }
            throw error
        }
        surroundings.draw?(CommandEnvironment.blankLine)
        surroundings.step(true, "\(progress.count) records\(out.map { " in \($0)" } ?? "")")
    }

    private struct Progress {
        var count = 0
        /// The columns of CSV.
        var fields: [String] = []
    }

    private func copy(
        _ board: InstallationID, _ reading: PageReading, to output: ExportOutput,
        _ progress: inout Progress
    ) async throws(CommandFailure) {
        let (path, surroundings) = (path(to: board, at: reading.surroundings.now()),
                                    reading.surroundings)
        var reading = reading
        var next: String? = ""
        while let after = next {
            let page = try await reading.page(path + (after.isEmpty ? "" : "after=\(after)"))
            let records = try results(in: page, ExportedRecord.init(json:))
            if after.isEmpty { try begin(page, output, &progress) }
            for record in records {
                switch format {
                case .csv: try output.write(CSVRow(cells: record.cells(progress.fields)).line)
                case .jsonl: try output.write(record.line(of: board))
                }
            }
            progress.count += records.count
            next = try decoding { () throws(WireError) in
                try page.optional("next") { $0.asString }
            }
            if next != nil, let last = records.last {
                surroundings.draw?("\r\(progress.count) records, up to "
                    + surroundings.times.exact(last.written))
            }
        }
    }

    private func path(to board: InstallationID, at now: Timestamp) -> String {
        var path = "/boards/\(board)/records?"
        if let className { path += "class=\(className)&" }
        if let since { path += "since=\((now - since.duration).milliseconds)&" }
        if let until { path += "until=\((now - until.duration).milliseconds)&" }
        return path
    }

    /// Only the first page names the fields.
    private func begin(
        _ page: JSONObject, _ output: ExportOutput, _ progress: inout Progress
    ) throws(CommandFailure) {
        progress.fields = try decoding { () throws(WireError) in
            try page.optional("fields") { $0.asArray?.compactMap(\.asString) } ?? []
        }
        guard format == .csv else { return }
        let head = ExportedRecord.columns + progress.fields + ["payload"]
        try output.write(CSVRow(cells: head).line)
    }
}

extension CSVRow {
    /// The row without its last line feed, which printing adds.
    fileprivate var line: String { text.dropLast() + "\r" }
}
