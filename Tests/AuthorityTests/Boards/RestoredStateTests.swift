import AuthorityStore
import Sessions
import Testing
import Wire

@testable import AuthorityCore
@testable import AuthorityService

@Suite("Restored state")
struct RestoredStateTests {
    /// A house that has served, gone back to an earlier state of its file, and serves again.
    private func restored(
        _ house: House, to path: String, after span: Duration = .seconds(3600)
    ) async throws -> Authority {
        house.clock.advance(span)
        let store = try SQLiteAuthorityStore(
            path: path, wrapping: MasterKey(at: "\(house.folder.path)/authority.key"))
        let authority = House.authority(on: store, house)
        let now = house.clock.now
        try await authority.noteGap(until: now, known: nil)
        try await store.raiseLatestTime(to: now)
        return authority
    }

    private func served() async throws -> (house: House, ada: Caller, old: LiveBoard) {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        house.clock.advance(.seconds(60))
        try await house.store.raiseLatestTime(to: house.clock.now)
        house.clock.advance(.seconds(60))
        return (house, ada, live)
    }

    @Test("tells a board that was set up anew since that its session was not issued here")
    func pairedAnew() async throws {
        let (house, ada, old) = try await served()
        let copy = try house.copy()
        house.clock.advance(.seconds(60))
        let live = try await house.provisioned(old.board.pairedAnew(), by: ada)
        let token = live.provision.tokens.session
        let authority = try await restored(house, to: copy)
        for body in [
            BoardMessage.Body.authenticate(token, durationMinutes: nil), .revoke(token),
            .list(token), .user(token), .refresh(live.provision.tokens.refresh),
        ] {
            #expect(try await live.ask(body, of: authority).errorCode == 101)
        }
        let ahead = try await authority.aheadBoards()
        #expect(ahead.map(\.board) == [old.board.installation])
        #expect(ahead.map(\.sign) == [.session])
        // What the store knows is what it was.
        let known = BoardMessage.Body.authenticate(
            old.provision.tokens.session, durationMinutes: nil)
        #expect(try await old.ask(known, of: authority).result != nil)
    }

    @Test("ends what was not made in a gap as before, and all once it is settled")
    func others() async throws {
        let (house, ada, old) = try await served()
        let copy = try house.copy()
        let live = try await house.provisioned(old.board.pairedAnew(), by: ada)
        let token = live.provision.tokens.session
        let authority = try await restored(house, to: copy)
        let format = SessionTokenFormat(
            cryptography: QuickPasswords(), key: house.keys.tokenHash)
        let early = try format.token(
            madeAt: house.clock.now + .seconds(-86_400), random: [UInt8](repeating: 1, count: 18))
        let forged = try #require(SessionToken("r:" + String(repeating: "A", count: 43)))
        for token in [early, forged, try #require(SessionToken("r:brought-from-elsewhere"))] {
            let body = BoardMessage.Body.authenticate(token, durationMinutes: nil)
            #expect(try await live.ask(body, of: authority).errorCode == 209)
        }
        let body = BoardMessage.Body.authenticate(token, durationMinutes: nil)
        #expect(try await live.ask(body, of: authority).errorCode == 101)
        try await authority.settleRestored(actor: "test")
        #expect(try await live.ask(body, of: authority).errorCode == 209)
        #expect(try await authority.aheadBoards().isEmpty)
    }

    private func heartbeat(_ live: LiveBoard, of authority: Authority) async throws -> Int? {
        let body = BoardMessage.Body.authenticate(
            live.provision.tokens.session, durationMinutes: nil)
        return try await live.ask(body, of: authority).errorCode
    }

    /// The code of what it is answered.
    private func refresh(_ live: LiveBoard, of authority: Authority) async throws -> Int? {
        let body = BoardMessage.Body.refresh(live.provision.tokens.refresh)
        return try await live.ask(body, of: authority).errorCode
    }

    @Test("gives boards up once, and keeps those that another gap may have lost")
    func settledRefresh() async throws {
        let (house, ada, old) = try await served()
        let second = try await house.provisioned(BoardDouble(), by: ada)
        let copy = try house.copy()
        let found = try await house.provisioned(old.board.pairedAnew(), by: ada)
        let silent = try await house.provisioned(second.board.pairedAnew(), by: ada)
        var authority = try await restored(house, to: copy)
        #expect(try await refresh(found, of: authority) == 101)
        #expect(try await authority.settleRestored(actor: "test") == 1)
        for live in [found, silent] {
            #expect(try await refresh(live, of: authority) == 209)
        }
        #expect(try await authority.aheadBoards().isEmpty)

        authority = try await restored(house, to: copy)
        #expect(try await refresh(found, of: authority) == 209)
        #expect(try await authority.aheadBoards().isEmpty)
        #expect(try await refresh(silent, of: authority) == 101)

        // An operator knows of another lost state: that a board was given up before is past.
        try await authority.noteRestored(actor: "test")
        #expect(try await refresh(found, of: authority) == 101)
    }

    @Test("keeps a board that was given up, and whose new claim another gap has lost",
          arguments: [false, true])
    func claimedAnewAndLost(refreshesFirst: Bool) async throws {
        let (house, ada, old) = try await served()
        let copy = try house.copy()
        let found = try await house.provisioned(old.board.pairedAnew(), by: ada)
        var authority = try await restored(house, to: copy)
        #expect(try await heartbeat(found, of: authority) == 101)
        #expect(try await authority.settleRestored(actor: "test") == 1)
        house.clock.advance(.seconds(60))
        let anew = try await house.provisioned(old.board.pairedAnew(), by: ada)

        authority = try await restored(house, to: copy)
        for _ in 0..<2 {
            #expect(try await heartbeat(found, of: authority) == 209)
            #expect(try await refresh(found, of: authority) == 209)
        }
        #expect(try await authority.aheadBoards().isEmpty)
        // Either of its tokens says when it was made, or its family.
        if refreshesFirst { #expect(try await refresh(anew, of: authority) == 101) }
        #expect(try await heartbeat(anew, of: authority) == 101)
        #expect(try await refresh(anew, of: authority) == 101)
        #expect(
            try await authority.aheadBoards().map(\.sign)
                == [refreshesFirst ? .refresh : .session])

        // Given up once more, and what it had before is over as it was.
        #expect(try await authority.settleRestored(actor: "test") == 1)
        for live in [found, anew] {
            #expect(try await heartbeat(live, of: authority) == 209)
            #expect(try await refresh(live, of: authority) == 209)
        }
        #expect(try await authority.aheadBoards().isEmpty)
    }

    @Test("keeps a board that was set up in a moment that is lost and not noticed yet")
    func unnoticed() async throws {
        let (house, ada, old) = try await served()
        try await house.authority.noteRestored(actor: "test")
        #expect(try await house.authority.settleRestored(actor: "test") == 0)
        let copy = try house.copy()
        house.clock.advance(.seconds(2))
        let anew = try await house.provisioned(old.board.pairedAnew(), by: ada)
        let store = try SQLiteAuthorityStore(
            path: copy, wrapping: MasterKey(at: "\(house.folder.path)/authority.key"))
        let authority = House.authority(on: store, house)
        #expect(try await refresh(anew, of: authority) == 101)
        #expect(try await heartbeat(anew, of: authority) == 101)
    }

    @Test("is not settled where there is no alarm: a plain stop's gap stays")
    func nothingToSettle() async throws {
        let (house, _, _) = try await served()
        let authority = try await restored(house, to: "\(house.folder.path)/authority.db")
        #expect(try await authority.settleRestored(actor: "test") == nil)
        #expect(try await house.audit("restored.settled").isEmpty)
        let gaps = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.gaps()
        }
        #expect(gaps.count == 1)
    }

    @Test("counts all who are given up, and takes back each login that nobody here made")
    func settledMany() async throws {
        let house = try await House()
        let at = house.clock.now
        let unknown = try (0..<3).map { _ in try BoardDouble().installation }
        try await house.store.transact { transaction throws(AuthorityError) in
            for index in 0..<10_010 {
                let tail = String(index + 100_000)
                guard let board = InstallationID("00000000-0000-4000-8000-000000\(tail)")
                else { continue }
                _ = try transaction.noteAhead(AheadBoard(board: board, sign: .refresh, since: at))
            }
            for board in unknown {
                _ = try transaction.noteAhead(
                    AheadBoard(board: board, sign: .unknown, since: at + .seconds(1)))
            }
        }
        #expect(try await house.authority.aheadBoards().count == 10_000)
        #expect(try await house.authority.aheadCount() == 10_013)
        #expect(try await house.authority.settleRestored(actor: "test") == 10_013)
        let lines = try await house.authority.linesWithJobs()
        #expect(Set(lines).isSuperset(of: unknown.map(\.description)))
        #expect(try await house.authority.aheadCount() == 0)
    }

    @Test("keeps a board whose claim was accepted since, also after that claim's time")
    func acceptedSince() async throws {
        let (house, ada, old) = try await served()
        let board = try old.board.pairedAnew()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let copy = try house.copy()
        let payload = try #require(try await house.retained(board))
        let (id, provision) = try board.openProvision(payload)
        let live = LiveBoard(board: board, house: house, id: id, provision: provision)
        let authority = try await restored(house, to: copy, after: .seconds(3 * 86_400))
        while try await authority.sweep() {}
        let body = BoardMessage.Body.authenticate(
            provision.tokens.session, durationMinutes: nil)
        #expect(try await live.ask(body, of: authority).errorCode == 101)
        let refresh = BoardMessage.Body.refresh(provision.tokens.refresh)
        #expect(try await live.ask(refresh, of: authority).errorCode == 101)
    }

    @Test("notes a board that it does not know, once, and a bounded number of them")
    func unknown() async throws {
        let (house, _, old) = try await served()
        let other = try BoardDouble()
        let live = LiveBoard(
            board: other, house: house, id: old.id, provision: old.provision)
        for _ in 0..<3 {
            let payload = try live.payload(
                .authenticate(old.provision.tokens.session, durationMinutes: nil))
            let heard = try await house.authority.hear(payload, from: other.installation)
            #expect(heard.answer == .dropped(.unknownBoard))
        }
        #expect(try await house.audit("alarm.unknown").count == 1)
        #expect(try await house.authority.aheadBoards().map(\.board) == [other.installation])
    }

    @Test("is no alarm after a plain stop: what was issued is known")
    func plainStop() async throws {
        let (house, _, live) = try await served()
        let authority = try await restored(house, to: "\(house.folder.path)/authority.db")
        let body = BoardMessage.Body.authenticate(
            live.provision.tokens.session, durationMinutes: nil)
        #expect(try await live.ask(body, of: authority).result != nil)
        #expect(try await authority.aheadBoards().isEmpty)
    }

    @Test("forgets that a board was ahead when it is set up anew")
    func wayBack() async throws {
        let (house, ada, old) = try await served()
        let copy = try house.copy()
        let live = try await house.provisioned(old.board.pairedAnew(), by: ada)
        let authority = try await restored(house, to: copy)
        let body = BoardMessage.Body.authenticate(
            live.provision.tokens.session, durationMinutes: nil)
        #expect(try await live.ask(body, of: authority).errorCode == 101)
        let again = try old.board.pairedAnew()
        let opened = try await authority.login(
            LoginAttempt(username: "ada", password: house.password, origin: "test"))
        _ = try await authority.claim(
            ClaimOrder(url: again.url(), duration: nil, scope: nil),
            by: try await authority.caller(opened.token))
        let desired = try await authority.desiredState(for: again.installation)
        let (id, provision) = try again.openProvision(try #require(desired.retained?.payload))
        let next = LiveBoard(board: again, house: house, id: id, provision: provision)
        let accepted = BoardMessage.Body.authenticate(
            provision.tokens.session, durationMinutes: nil)
        #expect(try await next.ask(accepted, of: authority).result != nil)
        #expect(try await authority.aheadBoards().isEmpty)
    }
}

@Suite("Gap")
struct GapTests {
    private static let at = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("is what a start finds, and what nobody watched", arguments: [
        (nil as Int64?, nil as Int64?, 100 as Int64, nil as Range<Int64>?),
        (0, nil, 100, 0..<100), (0, nil, 0, nil), (50, nil, 20, nil),
        // Watched: the usual pace, a long pause, a database that fell back.
        (0, 0, 60, nil), (0, 0, 180, nil), (0, 0, 181, 0..<181), (0, 30, 60, 0..<60),
        // Another replica has raised it.
        (40, 0, 60, nil),
    ])
    func judgement(
        latest: Int64?, known: Int64?, now: Int64, gap: Range<Int64>?
    ) {
        let found = Gap(
            latest: latest.map { Self.at + .seconds($0) },
            known: known.map { Self.at + .seconds($0) }, now: Self.at + .seconds(now))
        #expect(found.map { ($0.began - Self.at).components.seconds } == gap?.lowerBound)
        #expect(found.map { ($0.ended - Self.at).components.seconds } == gap?.upperBound)
    }

    @Test("is what a database lacks that has taken over, however little that is")
    func takenOver() {
        let gap = Gap(
            latest: Self.at, known: Self.at, now: Self.at + .seconds(2), isOtherHistory: true)
        #expect(gap == Gap(began: Self.at, ended: Self.at + .seconds(2)))
        // Another process has noticed it before, and told the database a later time.
        let second = Gap(
            latest: Self.at + .seconds(2), known: Self.at, now: Self.at + .seconds(3),
            isOtherHistory: true)
        #expect(second == Gap(began: Self.at, ended: Self.at + .seconds(3)))
    }

    @Test("stays where it was restored, however many come after it")
    func restoredStays() async throws {
        let house = try await House()
        let (count, isRestored) = try await house.store.transact {
            transaction throws(AuthorityError) in
            try transaction.add(Gap(
                began: Self.at, ended: Self.at + .seconds(5), isRestored: true))
            for index in 1...Int64(Gap.limit + 5) {
                let began = Self.at + .seconds(10 * index)
                try transaction.add(Gap(began: began, ended: began + .seconds(5)))
            }
            return (try transaction.gaps().count, try transaction.isRestored())
        }
        #expect(count == Gap.limit + 1 && isRestored)
    }

    @Test("begins after what is known, and counts 30 days unless it was restored")
    func bounds() async throws {
        let house = try await House()
        try await house.store.resetLatestTime(to: Self.at + .seconds(31 * 86_400))
        let found = try await house.store.transact { transaction throws(AuthorityError) in
            var found: [Bool] = []
            for (start, isRestored) in [(30 * 86_400 as Int64, false), (0, false), (10, true)] {
                let began = Self.at + .seconds(start)
                try transaction.add(Gap(
                    began: began, ended: began + .seconds(5), isRestored: isRestored))
                for time in [began, began + .seconds(1)] {
                    found.append(try transaction.hasGap(from: time, to: time))
                }
            }
            return found
        }
        #expect(found == [false, true, false, false, false, true])
    }

    @Test("is one with that which it touches, and the oldest give way")
    func bounded() async throws {
        let house = try await House()
        let gaps = try await house.store.transact { transaction throws(AuthorityError) in
            for index in 0..<Int64(Gap.limit + 10) {
                try transaction.add(Gap(
                    began: Self.at + .seconds(10 * index),
                    ended: Self.at + .seconds(10 * index + 5)))
            }
            let last = Self.at + .seconds(Int64(10 * (Gap.limit + 9)))
            try transaction.add(Gap(began: last + .seconds(5), ended: last + .seconds(7)))
            return try transaction.gaps()
        }
        #expect(gaps.count == Gap.limit)
        #expect(gaps.first?.began == Self.at + .seconds(100))
        #expect(gaps.last.map { $0.ended - $0.began } == .seconds(7))
    }
}

@Suite("Session token's form")
struct SessionTokenFormatTests {
    private let format = SessionTokenFormat(
        cryptography: SystemCryptography(), key: SecretBytes([UInt8](repeating: 3, count: 32)))

    @Test("is the contract's, and tells its maker alone when it was made")
    func roundTrip() throws {
        for milliseconds in [0, 1, 1_800_000_000_123, 253_402_300_799_999] as [Int64] {
            let time = Timestamp(milliseconds: milliseconds)
            let token = try format.token(madeAt: time, random: Array(1...18))
            #expect(SessionToken(token.reveal()) != nil)
            #expect(token.reveal().utf8.count == 2 + 43)
            #expect(try format.creation(of: token) == time)
            let other = SessionTokenFormat(
                cryptography: SystemCryptography(), key: SecretBytes([9]))
            #expect(try other.creation(of: token) == nil)
        }
    }

    @Test("is not that of a token with any bit changed")
    func changed() throws {
        let time = Timestamp(milliseconds: 1_800_000_000_123)
        let text = try format.token(madeAt: time, random: Array(1...18)).reveal()
        let bytes = try #require(Base64URL.decode(text.dropFirst(2)))
        for bit in 0..<(8 * bytes.count) {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let token = try #require(SessionToken("r:" + Base64URL.encode(changed)))
            #expect(try format.creation(of: token) == nil)
        }
    }
}
