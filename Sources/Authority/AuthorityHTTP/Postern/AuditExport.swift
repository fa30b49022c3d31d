import AuthorityCore
import Hummingbird
import NIOCore
import Sessions
import Wire

/// The audit log as a file, which is sent while the log is read.
struct AuditExport: Sendable {
    enum Format: String, Sendable {
        case csv
        case json

        var contentType: String {
            switch self {
            case .csv: "text/csv; charset=utf-8; header=present"
            case .json: "application/json; charset=utf-8"
            }
        }
    }

    let frontend: any AuthorityFrontend
    let caller: Caller
    let query: AuditQuery
    let format: Format

    /// The largest number of rows in one file.
    static let limit = 100_000
    private static let page = 1000

    func firstPage() async throws(AuthorityError) -> [AuditEntry] {
        try await page(before: query.before, limit: Self.limit)
    }

    private func page(
        before number: Int64?, limit: Int
    ) async throws(AuthorityError) -> [AuditEntry] {
        var query = query
        query.limit = min(Self.page, limit)
        query.before = number
        return try await frontend.audit(query, by: caller)
    }

    /// Writes the newest entries first. A failure ends the connection, so that the client does not
    /// take a part of the file for all of it.
    func write(
        _ first: [AuditEntry], to writer: inout any ResponseBodyWriter
    ) async throws {
        try await writer.write(ByteBuffer(string: format == .csv ? CSVRow.auditHead : "["))
        var entries = first
        var count = 0
        while let last = entries.last {
            var text = ""
            for entry in entries {
                switch format {
                case .csv: text += CSVRow(entry).text
                case .json:
                    text += (count == 0 ? "\n" : ",\n") + JSONValue.object(entry.form).text
                }
                count += 1
            }
            try await writer.write(ByteBuffer(string: text))
            guard entries.count == Self.page, count < Self.limit else { break }
            entries = try await page(before: last.number, limit: Self.limit - count)
        }
        if format == .json { try await writer.write(ByteBuffer(string: "\n]\n")) }
        try await writer.finish(nil)
    }
}

extension CSVRow {
    static let auditHead = CSVRow(cells: [
        "number", "at", "event", "actor", "installationId", "sessionId", "detail",
    ]).text

    init(_ entry: AuditEntry) {
        self.init(cells: [
            "\(entry.number)", ParseDate.print(entry.at), entry.event, entry.actor,
            entry.board?.description ?? "", entry.session?.description ?? "", entry.detail,
        ])
    }
}
