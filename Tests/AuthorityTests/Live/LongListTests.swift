import AuthorityCore
import AuthorityStore
import Sessions
import Testing

/// More rows than one look at a table takes.
@Suite("A long list", .everyStore)
struct LongListTests {
    private static let count = 10_001

    private static func board(_ number: Int) -> InstallationID {
        InstallationID(random: (0..<16).map { place in
            UInt8(truncatingIfNeeded: number >> (8 * min(place, 7)))
        })
    }

    @Test("of logins and people comes whole", .timeLimit(.minutes(5)))
    func whole() async throws {
        let house = try await House()
        let password = SecretBytes("secret")
        try await house.store.transact { tx throws(AuthorityError) in
            for number in 0..<Self.count {
                try tx.setBrokerPassword(password, of: Self.board(number))
                guard let id = UserID("user\(number)") else { continue }
                _ = try tx.insert(UserRecord(
                    objectID: id, username: "User\(number)", passwordHash: nil,
                    isAdministrator: false, mayClaim: false,
                    createdAt: Timestamp(milliseconds: 0)))
            }
        }
        let (logins, people) = try await house.store.read { tx throws(AuthorityError) in
            (try tx.boardsWithLogin(), try tx.users().map(\.username))
        }
        #expect(Set(logins).count == Self.count && logins.count == Self.count)
        #expect(people.count { $0.hasPrefix("User") } == Self.count)
        #expect(people == people.sorted { $0.lowercased() < $1.lowercased() })
    }

    @Test("of people or sessions is cut in the store, at the same places", arguments: [
        (0, 3), (2, 4), (7, 100), (8, 1), (9, 5), (0, 0), (-1, -1),
    ])
    func slices(skip: Int, limit: Int) async throws {
        let house = try await House()
        let ada = try await house.login()
        for number in 0..<4 { _ = try await house.addUser("User\(number)") }
        for name in ["ann", "zoe", "Bo"] { _ = try await house.addUser(name) }
        for _ in 0..<7 { _ = try await house.login() }
        for _ in 0..<8 { _ = try await house.device(by: ada) }
        try await house.store.transact { tx throws(AuthorityError) in
            for number in 0..<8 {
                guard let id = ObjectID("installed\(number)") else { continue }
                try tx.save(InstallationRecord(
                    objectID: id, installation: Self.board(number), owner: nil, fields: [:],
                    createdAt: house.clock.now, updatedAt: house.clock.now))
            }
        }
        let slice = ListSlice(skip: skip, limit: limit)

        let people = try await house.authority.users(by: ada)
        #expect(people.count == 8)
        #expect(try await house.authority.users(slice, by: ada) == slice.of(people))
        for everyone in [true, false] {
            let sessions = try await house.authority.sessions(by: ada, everyone: everyone)
            #expect(sessions.count >= 8)
            #expect(try await house.authority.sessions(
                slice, by: ada, everyone: everyone, withEnded: true)
                == slice.of(sessions))
        }
        let device = try await house.device(by: ada).caller
        let devices = try await house.authority.sessions(by: device, everyone: false)
        #expect(devices.count == 9 && devices.allSatisfy(\.session.restricted))
        #expect(try await house.authority.sessions(
            slice, by: device, everyone: false, withEnded: true)
            == slice.of(devices))
        let installed = try await house.authority.installations(.longest, by: .master)
        #expect(installed.count == 8)
        #expect(try await house.authority.installations(slice, by: .master)
            == slice.of(installed))
    }

    @Test("of boards comes in pages, without those that were released")
    func pages() async throws {
        let house = try await House()
        let ada = try await house.login().user.objectID
        let other = try await house.addUser("bob").user.objectID
        try await house.store.transact { tx throws(AuthorityError) in
            for number in 0..<20 {
                try tx.save(BoardRecord(
                    installation: Self.board(number), name: "n\(number % 3)",
                    deviceKey: Array(repeating: 1, count: 32), owner: number < 15 ? ada : other,
                    released: number == 7, lastSeen: nil))
            }
        }
        for (owner, count) in [(ada, 14), (other, 5), (nil, 19)] as [(UserID?, Int)] {
            let found = try await house.store.read { tx throws(AuthorityError) in
                var found: [BoardRecord] = []
                var last: BoardRecord?
                repeat {
                    let page = try tx.boards(of: owner, after: last, limit: 4)
                    found += page
                    last = page.last
                } while last != nil
                return found
            }
            #expect(found.count == count && Set(found.map(\.installation)).count == count)
            #expect(found.map(\.name) == found.map(\.name).sorted())
        }
    }

    @Test("of a person's sessions off boards has none of a board's")
    func offBoards() async throws {
        let house = try await House()
        let ada = try await house.login()
        for _ in 0..<2 { _ = try await house.provisioned(BoardDouble(), by: ada) }
        let device = try await house.device(by: ada).opened.session.objectID
        _ = try await house.claim(BoardDouble(), by: ada)
        let user = ada.user.objectID
        let (off, all) = try await house.store.read { tx throws(AuthorityError) in
            (try tx.sessionsOffBoards(of: user), try tx.ownSessions(of: user))
        }
        #expect(Set(off.map(\.id)) == [ada.session.objectID, device])
        #expect(all.count == 5 && Set(all.map(\.id)).isSuperset(of: off.map(\.id)))
        #expect(all.map(\.session.createdAt) == all.map(\.session.createdAt).sorted())
    }

    @Test("of boards that hold a session is counted no further than is asked")
    func counted() async throws {
        let house = try await House()
        let ada = try await house.login()
        for _ in 0..<3 { _ = try await house.provisioned(BoardDouble(), by: ada) }
        _ = try await house.claim(BoardDouble(), by: ada)
        #expect(try await house.authority.boardsInSession(atMost: 120) == 3)
        #expect(try await house.authority.boardsInSession(atMost: 2) == 2)
        #expect(try await house.store.tally().boardsAhead == 0)
    }
}
