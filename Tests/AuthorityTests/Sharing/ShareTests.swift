import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

@Suite("A shared board", .everyStore)
struct ShareTests {
    private let reading = ClassName("Reading")!

    @Test("is given by a link that serves once, and is found again by nobody else")
    func once() async throws {
        let shared = try await SharedHouse()
        let dora = try await shared.house.addUser("dora", mayClaim: false)
        let until = shared.house.clock.now + .seconds(86_400)
        let secret = try await shared.invite(
            ShareTerms(right: .manage, classes: [reading], until: until))
        let use = InvitationUse(secret, origin: "192.0.2.1")
        let offer = try await shared.house.authority.invitation(use, by: shared.carl)
        #expect(offer.owner == "bob")
        #expect(offer.terms.right == .manage)
        let own = try await refusalCode { try await shared.accept(secret, by: shared.bob) }
        #expect(own == 119)
        try await shared.accept(secret, by: shared.carl)
        #expect(try await refusalCode { try await shared.accept(secret, by: dora) } == 101)
        let board = try await shared.listed(by: shared.carl)
        let terms = ShareTerms(right: .manage, classes: [reading], until: until)
        #expect(board?.shared?.terms == terms)
        #expect(try await shared.listed(by: dora) == nil)
        #expect(try await shared.listed(by: shared.bob)?.shared == nil)
        let found = try await shared.house.authority.shares(of: shared.id, by: shared.bob)
        #expect(found.shares.map(\.username) == ["carl"])
        #expect(found.invitations.isEmpty)
        let events = try await ["invited", "accepted"].asyncMap {
            try await shared.house.audit("share.\($0)").map(\.actor)
        }
        #expect(events == [["bob"], ["carl"]])
    }

    @Test("is accepted by one of many who have the link")
    func race() async throws {
        let shared = try await SharedHouse()
        let secret = try await shared.invite()
        var people: [Caller] = []
        for number in 0..<8 {
            people.append(try await shared.house.addUser("person\(number)", mayClaim: false))
        }
        let wins = await withTaskGroup(of: Bool.self) { group in
            for person in people {
                group.addTask {
                    (try? await shared.accept(secret, by: person, from: "192.0.2.9")) != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(wins == 1)
        let found = try await shared.house.authority.shares(of: shared.id, by: shared.bob)
        #expect(found.shares.count == 1)
    }

    @Test("refuses wrong secrets alike, and only so many of them")
    func tries() async throws {
        let shared = try await SharedHouse()
        let bytes = [UInt8](repeating: 7, count: 32)
        let wrong = try #require(InvitationSecret(Base64URL.encode(bytes)))
        let old = try await shared.invite()
        shared.house.clock.advance(.seconds(7 * 86_400))
        let bob = try await shared.house.login("bob")
        let carl = try await shared.house.login("carl")
        var errors: [AuthorityError?] = []
        for secret in [wrong, old] {
            errors.append(await #expect(throws: AuthorityError.self) {
                try await shared.accept(secret, by: carl)
            })
        }
        #expect(errors[0] == errors[1])
        for _ in 2..<10 {
            #expect(try await refusalCode { try await shared.accept(wrong, by: carl) } == 101)
        }
        let good = try await shared.invite(by: bob)
        #expect(try await refusalCode { try await shared.accept(good, by: carl) } == 155)
        shared.house.clock.advance(.seconds(301))
        try await shared.accept(good, by: carl)
    }

    @Test("is shared with so many, and each board has its own bound")
    func bounds() async throws {
        let shared = try await SharedHouse()
        for _ in 0..<ShareLimit.ofBoard { _ = try await shared.invite() }
        #expect(try await refusalCode { _ = try await shared.invite() } == 140)
        shared.house.clock.advance(.seconds(7 * 86_400 + 1))
        let bob = try await shared.house.login("bob")
        _ = try await shared.invite(by: bob)
        let now = shared.house.clock.now
        let wrong = [
            ShareTerms(right: .see, until: now), ShareTerms(right: .see, classes: []),
            ShareTerms(right: .see, classes: [.user]),
            ShareTerms(right: .see, until: now + .seconds(4000 * 86_400)),
        ]
        for terms in wrong {
            #expect(try await refusalCode { _ = try await shared.invite(terms, by: bob) } == 142)
        }
    }

    @Test("is replaced by what its owner gives next")
    func again() async throws {
        let shared = try await SharedHouse()
        try await shared.share(ShareTerms(right: .manage))
        try await shared.share(ShareTerms(right: .see, classes: [reading]))
        let found = try await shared.house.authority.shares(of: shared.id, by: shared.bob)
        #expect(found.shares.map(\.share.terms) == [ShareTerms(right: .see, classes: [reading])])
        let code = try await refusalCode {
            _ = try await shared.house.authority.change(
                shared.id, BoardChange(name: BoardName("other")), by: shared.carl)
        }
        #expect(code == 119)
    }

    @Test("is managed in the name of the person who does it")
    func actor() async throws {
        let shared = try await SharedHouse()
        let authority = shared.house.authority
        try await shared.share(ShareTerms(right: .manage))
        _ = try await authority.change(
            shared.id, BoardChange(name: BoardName("shed")), by: shared.carl)
        _ = try await authority.extend(
            shared.live.session, by: .seconds(20 * 86_400), shortens: true, by: shared.carl)
        let scope = ScopeDocument(unchecked: .object(["default": .string("deny")]))
        _ = try await authority.setScope(scope, of: shared.live.session, by: shared.carl)
        let topics = ScopeDocument(unchecked: .object(["topics": .array([.string("a/#")])]))
        let code = try await refusalCode {
            _ = try await authority.setScope(topics, of: shared.live.session, by: shared.carl)
        }
        #expect(code == 119)
        try await authority.revoke(shared.live.session, by: shared.carl)
        for event in ["board.renamed", "session.extended", "session.scope", "session.ended"] {
            #expect(try await shared.house.audit(event).map(\.actor) == ["carl"], "\(event)")
        }
        #expect(try await shared.listed(by: shared.carl)?.name == "shed")
    }

    enum End: CaseIterable {
        case removed, left, until, released, newOwner, disabled
    }

    @Test("is seen no more when its share ends", arguments: End.allCases)
    func over(end: End) async throws {
        let shared = try await SharedHouse()
        let authority = shared.house.authority
        let ada = try await shared.house.login()
        let until = shared.house.clock.now + .seconds(3600)
        try await shared.share(ShareTerms(right: .see, until: until))
        _ = try await authority.board(shared.id, by: shared.carl)
        let share = try await authority.shares(of: shared.id, by: shared.bob).shares[0].share
        var caller = shared.carl
        switch end {
        case .removed: try await authority.endShare(share.id, of: shared.id, by: shared.bob)
        case .left: try await authority.endShare(share.id, of: shared.id, by: shared.carl)
        case .until: shared.house.clock.advance(.seconds(3600))
        case .released: try await authority.release(shared.id, by: shared.bob)
        case .newOwner:
            let paired = try shared.board.pairedAnew()
            _ = try await shared.house.provisioned(paired, by: ada)
        case .disabled:
            _ = try await authority.setEnabled(false, user: "carl", by: ada)
            _ = try await authority.setEnabled(true, user: "carl", by: ada)
            caller = try await shared.house.login("carl")
        }
        let now = caller
        #expect(try await refusalCode { _ = try await authority.board(shared.id, by: now) } == 101)
        #expect(try await shared.listed(by: now) == nil)
        #expect(try await authority.sharedBoards(by: now).isEmpty)
        while try await authority.sweep() {}
        let removed = try await shared.house.audit("share.removed")
        #expect(removed.map(\.detail) == ["carl"])
    }

    @Test("stays shared when its owner claims it again")
    func claimedAgain() async throws {
        let shared = try await SharedHouse()
        try await shared.share(ShareTerms(right: .see))
        _ = try await shared.house.provisioned(try shared.board.pairedAnew(), by: shared.bob)
        #expect(try await shared.listed(by: shared.carl)?.shared?.terms.right == .see)
    }

    @Test("stays shared when another board takes its place")
    func replaced() async throws {
        let shared = try await SharedHouse()
        try await shared.share(ShareTerms(right: .see))
        let link = try await shared.invite()
        let fresh = try BoardDouble()
        _ = try await shared.house.provisioned(fresh, by: shared.bob)
        _ = try await shared.house.authority.replace(
            shared.id, by: fresh.installation, lastArrived: nil, for: shared.bob)
        let boards = try await shared.house.authority.boards(by: shared.carl, everyone: false)
        #expect(boards.map(\.installation) == [fresh.installation])
        #expect(boards.first?.shared?.terms.right == .see)
        let dora = try await shared.house.addUser("dora")
        #expect(try await shared.accept(link, by: dora).board == fresh.installation)
    }

    @Test("gives nothing while its owner is disabled")
    func disabledOwner() async throws {
        let shared = try await SharedHouse()
        let ada = try await shared.house.login()
        try await shared.share(ShareTerms(right: .manage))
        for isEnabled in [false, true] {
            _ = try await shared.house.authority.setEnabled(isEnabled, user: "bob", by: ada)
            #expect(try await (shared.listed(by: shared.carl) != nil) == isEnabled)
            let known = try await shared.house.authority.sharedBoards(by: shared.carl)
            #expect(known.isEmpty != isEnabled)
            let code = try await refusalCode {
                _ = try await shared.house.authority.board(shared.id, by: shared.carl)
            }
            #expect(code == (isEnabled ? nil : 101))
        }
    }

    @Test("is not shared on by an administrator, by those who manage it, or for a board given away")
    func inviters() async throws {
        let shared = try await SharedHouse()
        let ada = try await shared.house.login()
        try await shared.share(ShareTerms(right: .manage))
        for caller in [ada, shared.carl] {
            let code = try await refusalCode {
                _ = try await shared.house.authority.invite(
                    to: shared.id, ShareTerms(right: .see), lasting: nil, by: caller)
            }
            #expect(code == 119)
        }
        let secret = try await shared.invite()
        _ = try await shared.house.provisioned(try shared.board.pairedAnew(), by: ada)
        #expect(try await refusalCode { try await shared.accept(secret, by: shared.carl) } == 101)
    }

    @Test("is nothing that a restricted session sees or accepts")
    func restricted() async throws {
        let shared = try await SharedHouse()
        let secret = try await shared.invite()
        let device = try await shared.house.device(by: shared.carl).caller
        #expect(try await refusalCode { try await shared.accept(secret, by: device) } == 119)
        try await shared.accept(secret, by: shared.carl)
        #expect(try await shared.house.authority.boards(by: device, everyone: false).isEmpty)
        #expect(try await shared.house.authority.sharedBoards(by: device).isEmpty)
    }
}

extension Array {
    fileprivate func asyncMap<T>(_ change: (Element) async throws -> T) async rethrows -> [T] {
        var changed: [T] = []
        for element in self { changed.append(try await change(element)) }
        return changed
    }
}
