import Sessions
import Testing
import Wire

import AuthorityCore

@Suite("Lifetime", .everyStore)
struct LifetimeTests {
    private static let never = LifetimePolicy(
        access: .seconds(3600), absolute: nil, idle: nil)

    @Test("without limit makes sessions that never expire, on boards and off them")
    func never() async throws {
        let house = try await House(lifetimes: Self.never)
        let ada = try await house.login()
        #expect(ada.session.expiresAt == nil)
        let live = try await house.provisioned(BoardDouble(), by: ada)
        #expect(live.provision.session.expiresAt == nil)
        #expect(live.provision.offline == .seconds(7 * 86_400))
        house.clock.advance(.seconds(400 * 86_400))
        #expect(try await house.authority.sweep() == false)
        let reply = try await live.authenticate()
        #expect(reply.result?.session?.objectID == live.session)
        #expect(reply.result?.session?.expiresAt == nil)
        #expect(try await live.ask(.refresh(live.provision.tokens.refresh)).result != nil)
        let view = try await house.authority.session(live.session, by: ada)
        #expect(view.state == .active && view.session.expiresAt == nil)
    }

    @Test("gives an access token the time of its preset, as the contract has it", arguments: [
        ("device", Int64(3600)), ("consumer", 3600), ("high-security", 300), ("long-lived", 3600),
    ])
    func access(preset: String, seconds: Int64) async throws {
        let lifetimes = try #require(LifetimePolicy(preset: preset))
        let house = try await House(lifetimes: lifetimes)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let first = try await house.claims(of: live.provision.tokens.access)
        #expect(first.expiresAt == first.issuedAt + .seconds(seconds))
        let next = try await live.ask(.refresh(live.provision.tokens.refresh)).result?.accessToken
        let second = try await house.claims(of: #require(next))
        #expect(second.expiresAt == second.issuedAt + .seconds(seconds))
    }

    @Test("without limit still ends what was asked to end", arguments: [
        (Duration.seconds(300), Optional(Int64(300))), (.seconds(365 * 86_400), 365 * 86_400),
    ])
    func wished(span: Duration, seconds: Int64?) async throws {
        let house = try await House(lifetimes: Self.never)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada, duration: span)
        #expect(live.provision.session.expiresAt.map { $0 - house.clock.now } == span)
        let extended = try await house.authority.extend(
            live.session, by: .seconds(365 * 86_400), shortens: false, by: ada)
        #expect(
            extended.session.expiresAt == house.clock.now + .seconds(365 * 86_400))
    }

    @Test("ends by each preset's limits", arguments: [
        "device", "consumer", "high-security", "long-lived",
    ])
    func presets(name: String) async throws {
        let policy = try #require(LifetimePolicy(preset: name))
        let house = try await House(lifetimes: policy)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let limit = try #require([policy.absolute, policy.idle].compactMap { $0 }.min())
        house.clock.advance(limit - .seconds(1))
        #expect(try await live.authenticate().result != nil)
        house.clock.advance(limit)
        #expect(try await live.authenticate().errorCode == 209)
        #expect(try await house.authority.sweep() == false)
        let record = try await house.record(live.session)
        #expect(record?.state == .ended && record?.endReason == "expired")
    }

    @Test("that was shortened acts on live sessions, and their boards get a message",
          arguments: [
              LifetimePolicy(
                  access: .seconds(3600), absolute: .seconds(86_400), idle: nil),
              LifetimePolicy(
                  access: .seconds(3600), absolute: .seconds(30 * 86_400),
                  idle: .seconds(3600)),
          ])
    func shortened(policy: LifetimePolicy) async throws {
        let house = try await House(lifetimes: .longLived)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        house.clock.advance(.seconds(2 * 86_400))
        _ = try await house.settle(live.board)
        let stricter = house.reconfigured(lifetimes: policy)
        let sealed = try live.payload(
            .authenticate(live.provision.tokens.session, durationMinutes: nil))
        let answer = try await stricter.handle(sealed, from: live.board.installation)
        #expect(try live.reply(in: answer).errorCode == 209)
        _ = house.worker.woken()
        #expect(try await stricter.sweep() == false)
        #expect(house.worker.woken().contains(live.board.installation.description))
        let notice = try #require(try await house.retained(live.board))
        guard case .revoked(_, live.session, "expired") = try live.board.open(
            notice, from: live.sealKey).body
        else { throw NotThat() }
        #expect(try await house.authority.desiredState(for: live.board.installation)
            .login?.mayPublishData == false)
    }

    @Test("bounds an extension by the limit that is in force now")
    func extensionLimit() async throws {
        let house = try await House(lifetimes: .longLived)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let stricter = house.reconfigured(lifetimes: .consumer)
        await expectRefusal(.validation) {
            try await stricter.extend(
                live.session, by: .seconds(31 * 86_400), shortens: false, by: ada)
        }
        let view = try await stricter.extend(
            live.session, by: .seconds(30 * 86_400), shortens: false, by: ada)
        #expect(view.session.expiresAt == house.clock.now + .seconds(30 * 86_400))
    }

    @Test("of an access token never exceeds its session's")
    func accessToken() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada, duration: .seconds(300))
        let claims = try await house.claims(of: live.provision.tokens.access)
        #expect(claims.expiresAt == live.provision.session.expiresAt)
        #expect(live.provision.offline == .seconds(300))
    }
}
