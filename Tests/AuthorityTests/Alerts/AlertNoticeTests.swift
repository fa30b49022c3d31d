import AuthorityCore
import Foundation
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Messages about alerts")
struct AlertNoticeTests {
    private func notice(
        _ name: String, _ state: AlertMessage.State = .opened, number: Int64 = 1
    ) throws -> AlertNotice {
        let start = Timestamp(milliseconds: 1_700_000_000_000)
        let board = try #require(InstallationID("3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"))
        let alert = Alert(
            id: try #require(MessageID("11111111-2222-4333-8444-555555555555")),
            kind: .boardOffline,
            board: board, boardName: name, text: "\(name) is offline",
            details: ["lastHeard": .integer(7)], openedAt: start,
            resolvedAt: state == .resolved ? start + .seconds(60) : nil)
        let message = AlertMessage(
            alert: alert, channel: .email, number: number, state: state, nextTry: start,
            until: start)
        return AlertNotice(message, authority: "Home", publicURL: "https://a.example")
    }

    private func mail(_ notice: AlertNotice) -> String {
        String(
            decoding: MailText(
                from: "p@a.example", to: ["x@b.example", "y@b.example"], notice: notice,
                at: Timestamp(milliseconds: 1_700_000_000_000)
            ).bytes, as: UTF8.self)
    }

    @Test("have these members for programs")
    func members() throws {
        #expect(try notice("shed", .resolved, number: 2).json.text == """
            {"authority":"Home","board":{"id":"3f1f7c0e-2b7a-4d4e-9c55-0123456789ab",\
            "name":"shed"},"details":{"lastHeard":7},\
            "id":"11111111-2222-4333-8444-555555555555","kind":"board-offline","message":2,\
            "openedAt":1700000000,"resolvedAt":1700000060,"state":"resolved",\
            "text":"shed is not offline any more.",\
            "url":"https://a.example/#/boards/3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"}
            """)
        // Sent late, it still tells of the opening.
        #expect(try notice("shed").json.asObject?["resolvedAt"] == .null)
    }

    @Test("are mails with plain headers, and a body in base64")
    func plain() throws {
        #expect(mail(try notice("shed")) == """
            From: p@a.example
            To: x@b.example,
             y@b.example
            Subject: Home: shed: board-offline
            Date: Tue, 14 Nov 2023 22:13:20 +0000
            Message-ID: <11111111-2222-4333-8444-555555555555.1@a.example>
            Auto-Submitted: auto-generated
            MIME-Version: 1.0
            Content-Type: text/plain; charset=utf-8
            Content-Transfer-Encoding: base64

            c2hlZCBpcyBvZmZsaW5lLg0KDQpodHRwczovL2EuZXhhbXBsZS8jL2JvYXJkcy8zZjFmN2MwZS0y
            YjdhLTRkNGUtOWM1NS0wMTIzNDU2Nzg5YWINCg==

            """.replacing("\n", with: "\r\n"))
        let second = mail(try notice("shed", .resolved, number: 2))
        #expect(second.contains("\r\nSubject: Home: resolved: shed: board-offline\r\n"))
        #expect(second.contains(
            "\r\nIn-Reply-To: <11111111-2222-4333-8444-555555555555.1@a.example>\r\n"))
    }

    @Test("let no name add a header, a line, or a long line", arguments: [
        "a\r\nBcc: eve@c.example", "\n\n<b>", "=?utf-8?B?eA==?=", "Gewächshaus 🌱",
        String(repeating: "ü", count: 128), "\u{0}",
    ])
    func hostile(name: String) throws {
        #expect(try subject(name) == "Home: \(name): board-offline")
    }

    @Test("show at most 256 bytes of a name")
    func long() throws {
        let marks = String(repeating: "\u{301}", count: 3000)
        let shown = "e" + String(repeating: "\u{301}", count: 126) + "…"
        #expect(try subject("e" + marks) == "Home: \(shown): board-offline")
    }

    /// The subject of a mail as a reader shows it. Every line is checked.
    private func subject(_ name: String) throws -> String {
        let mail = mail(try notice(name))
        #expect(mail.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
        let lines = mail.replacing("\r\n ", with: " ").components(separatedBy: "\r\n")
        #expect(!lines.contains { $0.hasPrefix("Bcc") })
        let head = lines.prefix { !$0.isEmpty }
        #expect(head.count == 9)
        let subject = try #require(head.first { $0.hasPrefix("Subject: ") }).dropFirst(9)
        #expect(subject.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        var text = ""
        for word in subject.split(separator: " ") {
            let inner = try #require(word.wholeMatch(of: /=\?utf-8\?B\?([A-Za-z0-9+\/=]+)\?=/)?.1)
            #expect(word.count <= 75)
            text += String(
                decoding: try #require(Data(base64Encoded: String(inner))), as: UTF8.self)
        }
        return text
    }
}
