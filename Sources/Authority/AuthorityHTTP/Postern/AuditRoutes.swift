import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// The audit log, in pages and as a file.
struct AuditRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/audit", .session(audit)),
            HTTPRoute(.get, "/audit/export", .session(export)),
        ]
    }

    private func audit(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let entries = try await frontend.audit(try query(in: call), by: caller)
        return .results(entries.map { .object($0.form) })
    }

    /// Exports the entries that match, at most `AuditExport.limit` rows. Each page is read while
    /// the file is sent, and the caller's right to read is checked for each page.
    private func export(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let format = try call.queried("format", AuditExport.Format.init(rawValue:)) ?? .csv
        let export = AuditExport(
            frontend: frontend, caller: caller, query: try query(in: call), format: format)
        let first = try await export.firstPage()
        var answer = Answer(stream: { writer in try await export.write(first, to: &writer) })
        answer.headers[.contentType] = format.contentType
        answer.headers[.contentDisposition] =
            "attachment; filename=\"postern-audit.\(format.rawValue)\""
        return answer
    }

    private func query(in call: Call) throws(AuthorityError) -> AuditQuery {
        let limit = try call.queried("limit") { text in
            Int(text).flatMap { (1...1000).contains($0) ? $0 : nil }
        }
        let time: (String) -> Timestamp? = { Int64($0).flatMap(Timestamp.init(seconds:)) }
        let text: (String) -> String? = { (1...256).contains($0.utf8.count) ? $0 : nil }
        var query = AuditQuery(limit: limit ?? 100)
        query.board = try call.queried("board", InstallationID.init)
        query.session = try call.queried("session", ObjectID.init)
        query.actor = try call.queried("actor", text).map { Username($0)?.description ?? $0 }
        query.event = try call.queried("event", text)
        query.since = try call.queried("since", time)
        query.until = try call.queried("until", time).map { $0 + .milliseconds(999) }
        query.before = try call.queried("before") { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
        return query
    }
}
