import AuthorityStore
import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("Limits of boards' codes", .everyStore)
struct ClaimCodeLimitTests {
    @Test("hold for an address, for a network of many addresses, and for all together")
    func room() async throws {
        let house = try await House()
        let board = try BoardDouble()
        for _ in 0..<20 { _ = try await house.openCode(board) }
        await expectRefusal(.rateLimit) { try await house.openCode(board) }
        for number in 100..<130 {
            _ = try await house.openCode(board, from: "192.0.2.\(number)")
        }
        await expectRefusal(.rateLimit) { try await house.openCode(board, from: "192.0.2.200") }
        // A stranger who asks for the same board from elsewhere ends nobody's code.
        _ = try await house.openCode(board, from: "2001:db8:1::1")
        let now = house.clock.now
        try await house.store.transact { transaction throws(AuthorityError) in
            for number in 0..<4096 {
                let bytes = [UInt8(number >> 8), UInt8(number & 255)]
                let code = ClaimCodeRecord(
                    deviceHash: bytes, userHash: bytes, installation: board.installation,
                    deviceKey: bytes, boardName: "", origin: "10.\(number >> 8).\(number & 255).1",
                    createdAt: now, endsAt: now + .seconds(600))
                guard try transaction.insert(code) else { throw .sessionOver }
            }
        }
        await expectRefusal(.rateLimit) { try await house.openCode(board, from: "198.51.100.1") }
        house.clock.advance(.seconds(601))
        while try await house.authority.sweep() {}
        _ = try await house.openCode(board)
    }

    @Test("leave room again for codes that claimed a board, but not for refused ones")
    func spent() async throws {
        let house = try await House()
        let ada = try await house.login()
        var opened = try await house.openCode(try BoardDouble())
        for _ in 0..<19 {
            try await house.authority.refuseClaimCode(opened.secret)
            opened = try await house.openCode(try BoardDouble())
        }
        await expectRefusal(.rateLimit) { try await house.openCode(try BoardDouble()) }
        let board = try BoardDouble()
        let other = try await house.openCode(board, from: "192.0.2.8")
        for number in 100..<129 {
            _ = try await house.openCode(board, from: "192.0.2.\(number)")
        }
        await expectRefusal(.rateLimit) { try await house.openCode(board, from: "192.0.2.200") }
        let (first, second) = ("192.0.2.7", "192.0.2.8")
        for (code, claimed, origin) in [
            (opened, try BoardDouble(), first), (other, board, second),
        ] {
            try await house.name(code.code, by: ada)
            _ = try await house.authority.confirmClaimCode(code.secret, claimed.secret)
            _ = try await house.openCode(board, from: origin)
            await expectRefusal(.rateLimit) { try await house.openCode(board, from: origin) }
        }
        #expect(try await ends(house, in: .all, skipping: 49) != nil)
        #expect(try await ends(house, in: .all, skipping: 50) == nil)
    }

    private func ends(
        _ house: House, in scope: RequestScope, skipping skipped: Int
    ) async throws -> Timestamp? {
        let now = house.clock.now
        return try await house.store.read { transaction throws(AuthorityError) in
            try transaction.claimCodeEnd(in: scope, skipping: skipped, after: now)
        }
    }

    @Test("hold for wrong codes of a user, together with those of programs")
    func wrongCodes() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let opened = try await house.openCode(try BoardDouble())
        let wrong = try #require(UserCode("BBBB-BBBB"))
        for number in 0..<10 {
            let origin = "192.0.2.\(number)"
            await expectRefusal(.notFound) {
                if number % 2 == 0 {
                    _ = try await house.show(wrong, by: bob, from: origin)
                } else {
                    _ = try await house.find(wrong, by: bob, from: origin)
                }
            }
        }
        await expectRefusal(.rateLimit) { try await house.show(opened.code, by: bob) }
        await expectRefusal(.rateLimit) { try await house.name(opened.code, by: bob) }
        await expectRefusal(.rateLimit) { try await house.progress(opened.code, by: bob) }
        _ = try await house.show(opened.code, by: try await house.login())
        house.clock.advance(.seconds(301))
        _ = try await house.show(opened.code, by: bob)
    }

    @Test("let people go on with a code that they have, and do not count it once it is over")
    func ownCode() async throws {
        let house = try await House()
        let ada = try await house.login()
        let opened = try await house.openCode(try BoardDouble())
        try await house.name(opened.code, by: ada)
        let wrong = try #require(UserCode("BBBB-BBBB"))
        for _ in 0..<10 {
            await expectRefusal(.notFound) { try await house.show(wrong, by: ada, from: "x") }
        }
        await expectRefusal(.rateLimit) { try await house.show(wrong, by: ada, from: "x") }
        #expect(try await house.progress(opened.code, by: ada) == .named)
        #expect(try await house.show(opened.code, by: ada).code == opened.code)
        house.clock.advance(.seconds(600))
        for _ in 0..<11 {
            await expectRefusal(.notFound) { try await house.progress(opened.code, by: ada) }
        }
        #expect(try await house.audit("claim.code-wrong").count == 10)
        await expectRefusal(.notFound) { try await house.show(wrong, by: ada, from: "x") }
    }

    @Test("hold for wrong codes from an address, of however many users")
    func address() async throws {
        let house = try await House()
        let opened = try await house.openCode(try BoardDouble())
        let wrong = try #require(UserCode("BBBB-BBBB"))
        for number in 0..<3 {
            let user = try await house.addUser("user \(number)")
            for _ in 0..<10 {
                await expectRefusal(.notFound) {
                    try await house.show(wrong, by: user, from: "192.0.2.1")
                }
            }
        }
        let bob = try await house.addUser("bob")
        await expectRefusal(.rateLimit) {
            try await house.show(opened.code, by: bob, from: "192.0.2.1")
        }
        _ = try await house.show(opened.code, by: bob, from: "192.0.2.2")
    }
}
