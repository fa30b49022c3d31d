import AuthorityCore
import Foundation
import Sessions
import Wire

/// A message as people and programs get it.
struct AlertNotice: Sendable {
    let id: String
    /// Counts the messages about one alert from 1.
    let number: Int64
    let kind: String
    let isOpen: Bool
    let board: (id: String, name: String)?
    /// The name of the board, or of the prepared claim.
    let name: String?
    let openedAt: Timestamp
    let resolvedAt: Timestamp?
    let text: String
    let details: [String: JSONValue]
    /// The board's page, or the page of all boards.
    let url: String
    /// The same behind the page's address.
    let path: String
    /// The authority's name.
    let authority: String

    init(_ message: AlertMessage, authority: String, publicURL: String) {
        let alert = message.alert
        id = alert.id.description
        number = message.number
        kind = alert.kind.rawValue
        isOpen = message.state == .opened
        board = alert.watchedBoard.map { ($0.description, alert.boardName) }
        name = alert.board == nil ? nil : alert.boardName
        openedAt = alert.openedAt
        resolvedAt = isOpen ? nil : alert.resolvedAt
        text = isOpen ? alert.text : alert.resolvedText
        details = alert.details
        path = alert.watchedBoard.map { "#/boards/\($0)" } ?? "#/boards"
        url = "\(publicURL)/\(path)"
        self.authority = authority
    }

    /// A test message, which is about no board.
    init(testAt now: Timestamp, id: String, authority: String, publicURL: String) {
        self.id = id
        number = 1
        kind = "test"
        isOpen = true
        board = nil
        name = nil
        openedAt = now
        resolvedAt = nil
        text = "This is a test of the alerts of \(authority)"
        details = [:]
        path = "#/boards"
        url = "\(publicURL)/\(path)"
        self.authority = authority
    }

    var title: String {
        let subject = name.map { "\(Self.short($0)): \(kind)" } ?? kind
        return "\(authority): \(isOpen ? "" : "resolved: ")\(subject)"
    }

    var sentence: String { text + "." }

    /// For the service worker of the page. It fits into one message.
    var pushForm: JSONValue {
        .object([
            "title": .string(title), "body": .string(Self.short(sentence, to: 1024)),
            "tag": .string(id), "path": .string(path),
        ])
    }

    /// At most 256 bytes: a name of few characters can have many combining marks.
    private static func short(_ name: String, to limit: Int = 256) -> String {
        guard name.utf8.count > limit else { return name }
        var short = String.UnicodeScalarView()
        var count = 0
        for scalar in name.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= limit - 3 else { break }
            short.append(scalar)
        }
        return String(short) + "…"
    }

    var json: JSONValue {
        .object([
            "id": .string(id), "message": .integer(number), "kind": .string(kind),
            "state": .string(isOpen ? "opened" : "resolved"),
            "board": board.map { board in
                .object(["id": .string(board.id), "name": .string(board.name)])
            } ?? .null,
            "openedAt": .time(openedAt), "resolvedAt": resolvedAt.map(JSONValue.time) ?? .null,
            "text": .string(sentence), "details": .object(details), "url": .string(url),
            "authority": .string(authority),
        ])
    }
}

/// A mail about an alert. A name from elsewhere cannot add a header: it is encoded.
struct MailText {
    let from: String
    let to: [String]
    let notice: AlertNotice
    let at: Timestamp

    /// Long headers are folded. Source: RFC 5322 §2.2.3, §3.6; RFC 2045 §6.8; RFC 3834 §5.
    var bytes: [UInt8] {
        let domain = from.split(separator: "@").last ?? "localhost"
        let first = "<\(notice.id).1@\(domain)>"
        var lines = [
            "From: \(from)", "To: \(to.joined(separator: ",\r\n "))",
            "Subject: \(Self.words(notice.title).joined(separator: "\r\n "))",
            "Date: \(Self.date(at))",
            "Message-ID: <\(notice.id).\(notice.number)@\(domain)>",
        ]
        if notice.number > 1 { lines += ["In-Reply-To: \(first)", "References: \(first)"] }
        lines += [
            "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", "",
        ]
        let body = "\(notice.sentence)\r\n\r\n\(notice.url)\r\n"
        lines += Self.folded(Data(body.utf8).base64EncodedString())
        return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
    }

    /// A text for one header: as it is if it is plain ASCII, else as encoded words. Each fits into
    /// a line of 76 characters after `Subject: `. Source: RFC 2047 §2.
    static func words(_ text: String) -> [String] {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 78
            && !text.contains("=?")
        if isPlain { return [text] }
        var pieces: [String] = [""]
        for character in text.unicodeScalars {
            let last = pieces[pieces.count - 1]
            let size = last.utf8.count + String(character).utf8.count
            if size > 39 {
                pieces.append(String(character))
            } else {
                pieces[pieces.count - 1] = last + String(character)
            }
        }
        return pieces.map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }
    }

    private static func folded(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: 76).map { start in
            String(decoding: bytes[start..<min(start + 76, bytes.count)], as: UTF8.self)
        }
    }

    /// `Wed, 25 Nov 2026 08:01:00 +0000`.
    private static func date(_ time: Timestamp) -> String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let text = ParseDate.print(time)
        let parts = text.prefix(10).split(separator: "-")
        let day = days[Int(time.seconds / 86_400 % 7)]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(day), \(parts[2]) \(month) \(parts[0]) \(text.dropFirst(11).prefix(8)) +0000"
    }
}
