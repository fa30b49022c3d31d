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
            the order in which the board wrote them, after those of boards that it replaced. \
            Times are UTC. If the authority is busy or restarts, the command waits and reads on.
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
            try await copy(
                try await client.lineage(of: board, surroundings),
                PageReading(client, surroundings), to: output, &progress)
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

    /// The first pages of all boards come first, because they have the names of the fields.
    private func copy(
        _ boards: [InstallationID], _ reading: PageReading, to output: ExportOutput,
        _ progress: inout Progress
    ) async throws(CommandFailure) {
        let now = reading.surroundings.now()
        var reading = reading
        var first: [(board: InstallationID, path: String, page: JSONObject)] = []
        for board in boards {
            let path = path(to: board, at: now)
            do throws(CommandFailure) {
                first.append((board, path, try await reading.page(path)))
            } catch .refused(let refusal)
                where refusal.code == ErrorCode.notFound.rawValue && board != boards.last
            {
                // A board that was replaced, and of which nothing is kept.
            }
        }
        try begin(first.map(\.page), output, &progress)
        for (board, path, begin) in first {
            var page = begin
            while true {
                try write(page, of: board, to: output, reading.surroundings, &progress)
                let next = try decoding { () throws(WireError) in
                    try page.optional("next") { $0.asString }
                }
                guard let next else { break }
                page = try await reading.page(path + "after=\(next)")
            }
        }
    }

    private func write(
        _ page: JSONObject, of board: InstallationID, to output: ExportOutput,
        _ surroundings: CommandEnvironment, _ progress: inout Progress
    ) throws(CommandFailure) {
        let records = try results(in: page, ExportedRecord.init(json:))
        for record in records {
            switch format {
            case .csv: try output.write(CSVRow(cells: record.cells(progress.fields)).line)
            case .jsonl: try output.write(record.line(of: board))
            }
        }
        progress.count += records.count
        guard let last = records.last else { return }
        surroundings.draw?("\r\(progress.count) records, up to "
            + surroundings.times.exact(last.written))
    }

    private func path(to board: InstallationID, at now: Timestamp) -> String {
        var path = "/boards/\(board)/records?"
        if let className { path += "class=\(className)&" }
        if let since { path += "since=\((now - since.duration).milliseconds)&" }
        if let until { path += "until=\((now - until.duration).milliseconds)&" }
        return path
    }

    private func begin(
        _ pages: [JSONObject], _ output: ExportOutput, _ progress: inout Progress
    ) throws(CommandFailure) {
        var fields: Set<String> = []
        for page in pages {
            fields.formUnion(try decoding { () throws(WireError) in
                try page.optional("fields") { $0.asArray?.compactMap(\.asString) } ?? []
            })
        }
        progress.fields = fields.sorted()
        guard format == .csv else { return }
        let head = ExportedRecord.columns + progress.fields + ["payload"]
        try output.write(CSVRow(cells: head).line)
    }
}

extension AuthorityClient {
    /// The boards whose place this one took, the oldest first, and itself. Only itself for a board
    /// that another person shares, and for one that the user had.
    fileprivate func lineage(
        of board: InstallationID, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) -> [InstallationID] {
        let answer: JSONObject
        do throws(CommandFailure) {
            answer = try await own(.get, "/boards/\(board)")
        } catch .refused(let refusal) where refusal.code == ErrorCode.notFound.rawValue {
            return [board]
        }
        guard answer.members["shared"] ?? .null == .null else {
            if answer.members["replaces"]?.asArray?.isEmpty == false {
                surroundings.note("only what this board sent itself: the data of the boards that "
                    + "it replaced is its owner's")
            }
            return [board]
        }
        let replaced = try decoding { () throws(WireError) in
            try (answer.members["replaces"]?.asArray ?? []).map { row throws(WireError) in
                guard let row = row.asObject else { throw .mistyped("replaces") }
                return try JSONObject(row).parsed("installationId", InstallationID.init)
            }
        }
        return replaced + [board]
    }
}

extension CSVRow {
    /// The row without its last line feed, which printing adds.
    fileprivate var line: String { text.dropLast() + "\r" }
}
