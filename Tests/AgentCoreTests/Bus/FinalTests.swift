import AgentCore
import Foundation
import Sessions
import Testing
import Wire

@Suite("Final")
struct FinalTests {
    /// A row of the contract's table of reasons: code and `final`.
    private struct Row: Equatable {
        let code: Int
        let final: String
    }

    private static func table() throws -> [String: Row] {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let text = try String(
            contentsOf: root.appending(path: "Provisioning/PROTOCOL.md"), encoding: .utf8)
        let lines = text.split(separator: "\n")
        let names = "| `reason` | `code` | `final` |"
        let head = try #require(lines.firstIndex { $0.hasPrefix(names) })
        let rows = lines[(head + 2)...].prefix { $0.hasPrefix("| `") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return Dictionary(uniqueKeysWithValues: try rows.map { cells in
            (String(cells[1].dropFirst().dropLast()),
             Row(code: try #require(Int(cells[2])), final: cells[3]))
        })
    }

    /// A board in that state.
    private func board(_ life: SessionLife) throws -> Bench {
        var bench = try Bench()
        switch life {
        case .unclaimed: break
        case .over(let end): bench.store.commit([.memory(BoardMemory(ended: end.reason))])
        case .withheld:
            bench.settings.offline = .seconds(3600)
            try bench.restart()
            try bench.provision()
            bench.pass(.seconds(3601))
        case .expired:
            try bench.provision()
            bench.pass(.seconds(86_401))
        case .unreadable:
            try bench.provision()
            bench.store.isUnreadable = true
        case .available, .outOfContact: try bench.provision()
        }
        try bench.restart()
        return bench
    }

    /// Everything that the board says of its session: on the bus and to its commands.
    private func said(_ bench: inout Bench) throws -> [JSONObject] {
        var effects = bench.handle(.started)
        effects += bench.handle(.busConnected(resumed: true))
        effects += bench.handle(.bus(
            ["create/Reading", "get/session", "get/user", "get/sessions"].map {
                .write("thermo", $0, "1", response: "a")
            }))
        let published = [BusTopic.session, "postern/app/thermo/a"].flatMap(effects.published)
        let answers = [ControlRequest.session, .status].flatMap { request in
            bench.handle(.control(request, connection: 1)).compactMap { effect in
                if case .answer(_, let json) = effect { json.bytes } else { nil }
            }
        }
        return try (published + answers).map { try JSONObject(parsing: $0) }
    }

    @Test("is beside each 209, as the contract's table of reasons says",
          arguments: SessionLife.allCases)
    func reasons(life: SessionLife) throws {
        var bench = try board(life)
        let said = try said(&bench).filter { $0.members["code"] != nil }
        guard case .unavailable(let reason) = life.state else { return #expect(said.isEmpty) }
        let row = try #require(try Self.table()[reason.rawValue])
        let final: JSONValue? = switch row.final {
        case "": nil
        case "true": .bool(true)
        case "false": .bool(false)
        default: .bool(life != .expired)
        }
        #expect(row.final.isEmpty == (row.code != 209))
        // Two notices, three reads, two commands; and the write, where it does not wait.
        #expect(said.count == (life == .withheld ? 7 : 8))
        for each in said {
            #expect(each.members["code"] == .integer(Int64(row.code)), "\(life)")
            #expect(each.members["final"] == final, "\(life)")
        }
    }

    @Test("has a row for each reason")
    func rows() throws {
        let table = try Self.table()
        #expect(Set(table.keys) == Set(UnavailableReason.allCases.map(\.rawValue)))
        #expect(table["expired"]?.final == "true; false while only the board's clock says so")
    }
}
