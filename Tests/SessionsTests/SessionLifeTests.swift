import Foundation
import Sessions
import Testing

@Suite("Life of a session")
struct SessionLifeTests {
    /// The published table: each row is a state's name and, for each event, the next state's.
    private static func table() throws -> (events: [String], rows: [[String]]) {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let text = try String(
            contentsOf: root.appending(path: "Provisioning/SESSIONS.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## ").first {
            $0.hasPrefix("States and events")
        })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let head = try #require(rows.firstIndex { $0.count > 8 })
        return (Array(rows[head].dropFirst()), Array(rows[rows.index(after: head)...]))
    }

    @Test("is the published table, cell by cell, and the table has every cell")
    func published() throws {
        let (events, rows) = try Self.table()
        #expect(events == SessionEvent.allCases.map(\.description))
        #expect(rows.map(\.first) == SessionLife.allCases.map(\.description))
        var cells = 0
        for (state, row) in zip(SessionLife.allCases, rows) {
            for (event, cell) in zip(SessionEvent.allCases, row.dropFirst()) {
                cells += 1
                let next = state.after(event).description
                #expect(
                    cell == (next == row.first ? "·" : next), "\(state), after \(event)")
            }
        }
        #expect(cells == 130)
    }

    @Test("has every state and event once, each with a name of its own")
    func names() {
        #expect(Set(SessionLife.allCases.map(\.description)).count == 10)
        #expect(Set(SessionEvent.allCases.map(\.description)).count == 13)
    }

    @Test("comes back from an end by a provisioning alone", arguments: SessionEvent.allCases)
    func ends(event: SessionEvent) {
        for end in SessionEnd.allCases where event != .provisioned && event != .unreadable {
            guard case .over = SessionLife.over(end).after(event) else {
                Issue.record("\(end) is undone by \(event)")
                return
            }
        }
    }

    @Test("loses its tokens to an end alone, whatever the clock and the network do")
    func clock() {
        let passing: [SessionEvent] = [
            .contact, .uplinkLost, .graceEnded, .graceRegained, .expiryReached, .expiryUnreached,
        ]
        var reached: Set<SessionLife> = [.available]
        for _ in 0..<6 {
            reached.formUnion(reached.flatMap { state in passing.map(state.after) })
        }
        #expect(reached == [.available, .outOfContact, .withheld, .expired])
    }

    @Test("is available to programs exactly while it may be used", arguments: [
        (.unclaimed, .unavailable(.unclaimed)), (.available, .available),
        (.outOfContact, .available), (.withheld, .unavailable(.offline)),
        (.expired, .unavailable(.expired)), (.unreadable, .unavailable(.unreadable)),
        (.over(.expired), .unavailable(.expired)), (.over(.revoked), .unavailable(.revoked)),
        (.over(.signedOut), .unavailable(.signedOut)), (.over(.reuse), .unavailable(.reuse)),
    ] as [(SessionLife, SessionState)])
    func state(life: SessionLife, state: SessionState) {
        #expect(life.state == state)
    }

    @Test("says beside 209, and only there, whether a person must provision again")
    func final() {
        for life in SessionLife.allCases {
            let isOver = if case .over = life { true } else { false }
            if case .unavailable(let reason) = life.state, reason.code == .invalidSession {
                #expect(life.isFinal == isOver, "\(life)")
            } else {
                #expect(life.isFinal == nil, "\(life)")
            }
        }
    }
}
