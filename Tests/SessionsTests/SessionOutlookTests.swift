import Sessions
import Testing

@Suite("The outlook of a session")
struct SessionOutlookTests {
    private static let made = Timestamp(milliseconds: 1_795_562_363_000)
    private static let day = Duration.seconds(86_400)

    private func session(until end: Timestamp?) throws -> Session {
        Session(
            objectID: try #require(ObjectID("OKBCVLtX7h")),
            user: try #require(UserID("HPHqlUHip2")), restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "password"),
            installationID: nil, createdAt: Self.made, expiresAt: end)
    }

    @Test("is the earliest of its ends, with the cause of that one")
    func earliest() throws {
        let end = Self.made + Self.day * 30
        let expiring = try session(until: end)
        let heard = Self.made + Self.day * 10
        let own = try #require(SessionOutlook(of: expiring, lastHeard: heard))
        #expect(own.endsAt == end)
        #expect(own.cause == .expiry)
        #expect(own.span == Self.day * 30)
        let idle = SessionOutlook(of: expiring, lastHeard: heard, idle: Self.day * 5)
        #expect(idle?.cause == .idle)
        #expect(idle?.endsAt == heard + Self.day * 5)
        let offline = SessionOutlook(of: expiring, lastHeard: heard, offline: Self.day * 7)
        #expect(offline?.cause == .offline)
        #expect(offline?.endsAt == heard + Self.day * 7)
        let limited = SessionOutlook(
            of: expiring, lastHeard: heard, limit: Self.made + Self.day * 12, idle: Self.day * 5)
        #expect(limited?.cause == .limit)
        #expect(limited?.endsAt == Self.made + Self.day * 12)
    }

    @Test("is none where nothing ends the session")
    func endless() throws {
        #expect(SessionOutlook(of: try session(until: nil), lastHeard: Self.made) == nil)
    }

    @Test("warns 30, 7 and 1 days ahead, each only where the whole span is longer", arguments: [
        (365, 300, nil), (365, 335, 30), (365, 357, 30), (365, 358, 7), (365, 363, 7),
        (365, 364, 1), (30, 0, nil), (30, 22, nil), (30, 23, 7), (30, 29, 1), (30, 40, 1),
        (7, 3, nil), (7, 6, 1), (1, 0, nil), (1, 1, nil),
    ])
    func warning(days: Int, passed: Int, expected: Int?) throws {
        let ending = try session(until: Self.made + Self.day * days)
        let outlook = try #require(SessionOutlook(of: ending, lastHeard: Self.made))
        #expect(outlook.warning(at: Self.made + Self.day * passed) == expected)
    }
}
