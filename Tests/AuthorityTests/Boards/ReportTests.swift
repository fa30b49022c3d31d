import AuthorityCore
import AuthorityStore
import Gate
import Sessions
import Testing
import Wire

extension LiveBoard {
    /// A heartbeat that tells this.
    func tell(_ report: BoardReport) async throws -> Reply {
        try await ask(.authenticate(
            provision.tokens.session, durationMinutes: nil, report: report))
    }
}

extension BoardReport {
    static func sample(
        _ messages: Int64, refused: Int64 = 0, rules: Rules? = nil
    ) -> BoardReport {
        BoardReport(
            queue: Queue(messages: messages, bytes: messages * 100, oldest: nil),
            refused: refused,
            refusals: refused == 0
                ? [] : [RefusalCount(app: "mad", rule: "policy.toml:10", count: refused)],
            rules: rules)
    }
}

extension BoardReport.Rules {
    /// Creating readings of at most `bytes` is all that they allow.
    static func readings(upTo bytes: Int64) -> Self {
        Self(Policy(
            allowsByDefault: false, apps: [:], rules: [
                Rule(
                    id: .policy(line: 10), app: nil, className: ClassName("Reading"),
                    allow: [.create], fields: nil, maxBytes: ByteCount(bytes: bytes), rate: nil)
            ]))
    }
}

@Suite("Report", .everyStore)
struct ReportTests {
    private func board(of house: House, by caller: Caller) async throws -> Board {
        try #require(try await house.authority.boards(by: caller, everyone: false).first)
    }

    @Test("of the last heartbeat is shown to the board's owner, with the rules told last")
    func kept() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        #expect(try await board(of: house, by: ada).report == nil)
        let first = house.clock.now
        #expect(try await live.tell(.sample(3, rules: .readings(upTo: 9))).result != nil)
        #expect(
            try await board(of: house, by: ada).report == .sample(3, rules: .readings(upTo: 9)))
        house.clock.advance(.seconds(180))
        // The same again is nothing new.
        _ = try await live.tell(.sample(3))
        #expect(try await board(of: house, by: ada).reportedAt == first)
        house.clock.advance(.seconds(180))
        _ = try await live.tell(.sample(4, refused: 2))
        let told = try await board(of: house, by: ada)
        #expect(told.report == .sample(4, refused: 2, rules: .readings(upTo: 9)))
        #expect(told.reportedAt == house.clock.now)
        _ = try await live.tell(.sample(4, refused: 2, rules: .noFile))
        #expect(try await board(of: house, by: ada).report?.rules == .noFile)
        _ = try await live.tell(.sample(4, refused: 2, rules: .omitted))
        #expect(try await board(of: house, by: ada).report?.rules == .omitted)
    }

    @Test("keeps the units that were told with the rules, until other rules come")
    func units() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let celsius = try #require(FieldUnit("°C"))
        let units = DeclaredUnits(Policy(allowsByDefault: true, apps: [:], rules: [
            Rule(
                id: .policy(line: 1), app: nil, className: ClassName("Reading"), allow: [],
                fields: nil, units: ["celsius": celsius], maxBytes: nil, rate: nil),
        ]))
        var report = BoardReport.sample(3, rules: .readings(upTo: 9))
        report.units = units
        _ = try await live.tell(report)
        _ = try await live.tell(.sample(4))
        #expect(try await board(of: house, by: ada).report?.units == units)
        #expect(units != .none)
        _ = try await live.tell(.sample(4, rules: .noFile))
        #expect(try await board(of: house, by: ada).report?.units == DeclaredUnits.none)
    }

    @Test("is nothing new where only the last number sent and the oldest's age differ")
    func progress() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let first = house.clock.now
        for number in 1...3 as ClosedRange<Int64> {
            var report = BoardReport.sample(3)
            (report.lastForwarded, report.queue.oldestAge) = (number, 180 * number)
            _ = try await live.tell(report)
            #expect(try await board(of: house, by: ada).report == .sample(3))
            #expect(try await board(of: house, by: ada).reportedAt == first)
            house.clock.advance(.seconds(180))
        }
    }

    @Test("that another machine uses the board's identity is an alarm, once an hour")
    func shared() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        var report = BoardReport.sample(3)
        for (isShared, minutes, count) in [
            (true, 0, 1), (true, 3, 1), (false, 3, 1), (true, 3, 1), (true, 60, 2),
        ] {
            house.clock.advance(.seconds(minutes * 60))
            report.isShared = isShared
            _ = try await live.tell(report)
            #expect(try await board(of: house, by: ada).report?.isShared == isShared)
            var query = AuditQuery(limit: 9, board: live.board.installation)
            query.event = "identity.shared"
            let asked = query
            let entries = try await house.store.transact {
                transaction throws(AuthorityError) in try transaction.entries(asked)
            }
            #expect(entries.count == count)
        }
    }

    @Test("that tells nothing new is not written")
    func unwritten() async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.login())
        let id = live.board.installation
        let start = house.clock.now
        var since: [Timestamp?] = []
        for report in [
            BoardReport.sample(1, rules: .noFile), .sample(1, rules: .noFile), .sample(1),
            .sample(2), .sample(2, rules: .omitted), .sample(2),
        ] {
            _ = try await live.tell(report)
            since.append(try await house.store.read { transaction throws(AuthorityError) in
                try transaction.report(of: id)?.since
            })
            house.clock.advance(.seconds(1))
        }
        #expect(since == [0, 0, 0, 3, 4, 4].map { start + .seconds($0) })
    }

    @Test("of two processes in turn is of two machines; of one after another it is not")
    func inTurn() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let runs = try (0..<3).map { index in
            try #require(MessageID("0e9c1f6a-2b7d-4c3e-9f10-a1b2c3d4e5f\(index)"))
        }
        var told: [Bool?] = []
        // Started anew twice, then the one before again, and again.
        for index in [0, 0, 1, 1, 2, 1, 1, 2] {
            var report = BoardReport.sample(3)
            report.run = runs[index]
            told.append(try await live.tell(report).result?.isShared)
        }
        #expect(told == [false, false, false, false, false, true, false, true])
        #expect(try await house.audit("identity.shared").count == 1)
    }

    @Test("counts under a session that lives, and from its own board alone")
    func ownership() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let other = try await house.provisioned(BoardDouble(), by: ada)
        let reply = try await live.ask(.authenticate(
            other.provision.tokens.session, durationMinutes: nil, report: .sample(9)))
        #expect(reply.errorCode == 209)
        try await house.authority.revoke(live.session, by: ada)
        #expect(try await live.tell(.sample(9)).errorCode == 209)
        let reports = try await house.authority.boards(by: ada, everyone: false).map(\.report)
        #expect(reports == [nil, nil])
    }

    @Test("is forgotten when the board is released or another person takes it")
    func forgotten() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let double = try BoardDouble()
        let live = try await house.provisioned(double, by: ada)
        _ = try await live.tell(.sample(3, rules: .noFile))
        try await house.authority.release(double.installation, by: ada)
        let again = try await house.provisioned(
            try double.pairedAnew(), by: bob)
        #expect(try await board(of: house, by: bob).report == nil)
        _ = try await again.tell(.sample(1))
        #expect(try await board(of: house, by: bob).report == .sample(1))
    }
}
