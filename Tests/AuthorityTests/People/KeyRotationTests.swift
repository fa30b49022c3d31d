import AuthorityCore
import Cryptography
import Foundation
import GRDB
import Sessions
import Testing
import Wire

@testable import AuthorityService
@testable import AuthorityStore

@Suite("Key rotation", .everyStore)
struct KeyRotationTests {
    @Test("signs the next refresh with the new key, and tells boards that ask both")
    func rotation() async throws {
        let (house, live) = try await fixture()
        let old = try #require(live.provision.authority.signKeys.first)
        let key = try KeyRing.signingKey()
        try await house.authority.rotate(to: key, actor: "test")
        let refreshed = try await live.ask(.refresh(live.provision.tokens.refresh))
        let token = try #require(refreshed.result?.accessToken)
        #expect(try header(of: token).kid == key.publicKey.kid)
        // As a board that meets an unknown kid asks.
        let told = try #require(try await live.authenticate().signKeys)
        #expect(told == [key.publicKey, old])
        #expect(try isSigned(token, byOneOf: told))
        #expect(try isSigned(live.provision.tokens.access, byOneOf: told))
        #expect(try !isSigned(token, byOneOf: [old]))
        let entries = try await house.audit("keys.rotated")
        #expect(entries.map(\.detail) == ["\(old.kid) to \(key.publicKey.kid)"])
    }

    @Test("provisions boards with all that is published, the new key first")
    func provisioning() async throws {
        let (house, first) = try await fixture()
        let key = try KeyRing.signingKey()
        try await house.authority.rotate(to: key, actor: "test")
        let live = try await house.provisioned(BoardDouble(), by: try await house.login())
        #expect(live.provision.authority.signKeys
            == [key.publicKey] + first.provision.authority.signKeys)
        #expect(try isSigned(
            live.provision.tokens.access, byOneOf: [key.publicKey]))
    }

    @Test("publishes the old key until the last token that it signed has expired",
          arguments: [(0, 2), (3600, 2), (3899, 2), (3900, 1)])
    func publication(after seconds: Int, count: Int) async throws {
        let (house, live) = try await fixture()
        try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        house.clock.advance(.seconds(seconds))
        try await house.authority.reloadSigningKeys()
        #expect(try await live.authenticate().signKeys?.count == count)
    }

    @Test("leaves no private half of the old key, and keeps its public one on record")
    func destruction() async throws {
        let (house, live) = try await fixture()
        let old = try #require(live.provision.authority.signKeys.first)
        try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        house.clock.advance(.seconds(86_400))
        try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        let records = try await house.authority.signingKeyRecords()
        #expect(records.map(\.privateKey.count) == [32, 0, 0])
        #expect(records.last?.name == old.kid.description)
        #expect(records.last?.publicKey == old.key)
    }

    @Test("is refused for a seventeenth key, until the oldest is published no more")
    func limit() async throws {
        let (house, live) = try await fixture()
        for _ in 1..<16 {
            try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
            house.clock.advance(.seconds(60))
        }
        #expect(try await live.authenticate().signKeys?.count == 16)
        let before = try await house.authority.signingKeyRecords().map(\.name)
        await #expect(throws: AuthorityError.self) {
            try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        }
        #expect(try await house.authority.signingKeyRecords().map(\.name) == before)
        house.clock.advance(.seconds(3900 - 15 * 60))
        try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        #expect(try await live.authenticate().signKeys?.count == 16)
    }

    @Test("of many at once leaves one key that signs, and all others published")
    func concurrent() async throws {
        let (house, live) = try await fixture()
        let neighbour = try await Neighbour(of: house)
        await withTaskGroup { group in
            for index in 0..<8 {
                group.addTask {
                    let authority = index % 2 == 0 ? house.authority : neighbour.authority
                    let key = try? KeyRing.signingKey()
                    if let key { try? await authority.rotate(to: key, actor: "test") }
                }
            }
        }
        let records = try await house.authority.signingKeyRecords()
        #expect(records.count == 9)
        #expect(records.filter { $0.retiredAt == nil }.count == 1)
        try await house.authority.reloadSigningKeys()
        let told = try #require(try await live.authenticate().signKeys)
        #expect(Set(told.map(\.kid.description)) == Set(records.map(\.name)))
    }

    @Test("by another process is noticed, and what was signed meanwhile stays good")
    func elsewhere() async throws {
        let (house, live) = try await fixture()
        let neighbour = try await Neighbour(of: house)
        let version = try await house.store.foreignVersion()
        let key = try KeyRing.signingKey()
        try await neighbour.authority.rotate(to: key, actor: "test")
        let late = try await live.ask(.refresh(live.provision.tokens.refresh))
        let token = try #require(late.result?.accessToken)
        #expect(try await house.store.foreignVersion() != version)
        #expect(try await house.authority.reloadSigningKeys())
        #expect(try await house.authority.reloadSigningKeys() == false)
        let told = try #require(try await live.authenticate().signKeys)
        #expect(told.first == key.publicKey)
        #expect(try isSigned(token, byOneOf: told))
        #expect(try header(of: token).kid != key.publicKey.kid)
    }

    @Test("does not go by the time that a key was made at: a clock may have been wrong")
    func wrongClock() async throws {
        let (house, live) = try await fixture()
        house.clock.advance(.seconds(-86_400))
        let key = try KeyRing.signingKey()
        try await house.authority.rotate(to: key, actor: "test")
        house.clock.advance(.seconds(86_400))
        try await house.authority.reloadSigningKeys()
        let refreshed = try await live.ask(.refresh(live.provision.tokens.refresh))
        #expect(try header(of: #require(refreshed.result?.accessToken)).kid == key.publicKey.kid)
    }

    @Test("leaves an access token all the claims of the contract, and no other")
    func claims() async throws {
        let (house, live) = try await fixture()
        let parts = try JWS.parse(live.provision.tokens.access.reveal())
        let json = try JSONObject(parsing: parts.payload)
        #expect(Set(json.members.keys) == [
            "iss", "sub", "aud", "iat", "nbf", "exp", "jti", "sid", "iid", "restricted", "cnf",
        ])
        #expect(json.members["aud"] == .string("postern"))
        #expect(json.members["restricted"] == .bool(true))
        let claims = try AccessTokenClaims(parsing: parts.payload)
        #expect(claims.issuer == "https://authority.example")
        #expect(claims.subject == live.provision.session.user)
        #expect(claims.issuedAt.seconds == house.clock.now.seconds)
        #expect(claims.notBefore == claims.issuedAt)
        #expect(claims.expiresAt == claims.issuedAt + LifetimePolicy.consumer.access)
        #expect(claims.session == live.session)
        #expect(claims.installation == live.board.installation)
        #expect(claims.deviceKey == live.board.key.publicKey.keyID)
        #expect(MessageID(claims.tokenID) != nil)
        let next = try await live.ask(.refresh(live.provision.tokens.refresh))
        let other = try JWS.parse(#require(next.result?.accessToken).reveal())
        #expect(try AccessTokenClaims(parsing: other.payload).tokenID != claims.tokenID)
    }

    private func header(of token: AccessToken) throws -> AccessTokenHeader {
        try AccessTokenHeader(parsing: JWS.parse(token.reveal()).header)
    }

    /// As a board verifies: by the key that the header names, if that is pinned.
    private func isSigned(
        _ token: AccessToken, byOneOf keys: [SigningKey]
    ) throws -> Bool {
        let parts = try JWS.parse(token.reveal())
        let kid = try AccessTokenHeader(parsing: parts.header).kid
        guard let key = keys.first(where: { $0.kid == kid }) else { return false }
        return parts.isSigned(by: try Ed25519PublicKey(rawRepresentation: key.key))
    }

    private func fixture() async throws -> (House, LiveBoard) {
        let house = try await House()
        let ada = try await house.login()
        return (house, try await house.provisioned(BoardDouble(), by: ada))
    }
}

/// Another process on a house's store, as far as the store can tell.
struct Neighbour {
    let store: any ServiceStore
    let authority: Authority

    init(of house: House) async throws {
        store = try await house.place.open()
        let clock = house.clock
        let records = try KeyRing.make(at: clock.now)
        authority = Authority(
            store: store, cryptography: SystemCryptography(), worker: NoWorker(),
            keys: try KeyRing.read(records), rules: AuthorityRules(
                info: house.authority.info, lifetimes: .consumer, managesBrokerAccess: true),
            clock: { clock.now })
    }
}

@Suite("Retired signing key")
struct RetiredSigningKeyTests {
    @Test("is refused where somebody without the master key wrote it into the store",
          arguments: ["x''", "private"])
    func planted(proof: String) async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.login())
        try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        let key = try KeyRing.signingKey().publicKey
        try await house.file.pool.write { database in
            try database.execute(
                sql: """
                    INSERT INTO keys (kind, name, public, private, created_at, retired_at)
                    SELECT kind, ?, ?, \(proof), created_at, retired_at FROM keys
                    WHERE kind = 'signing' AND retired_at IS NOT NULL LIMIT 1
                    """, arguments: [key.kid.description, Data(key.key)])
        }
        await #expect(throws: AuthorityError.failed(
            layer: "store", text: "the column private is damaged")) {
            try await house.authority.reloadSigningKeys()
        }
        let told = try #require(try await live.authenticate().signKeys)
        #expect(told.count == 2 && !told.contains(key))
    }

    @Test("in use is refused with a public half of somebody else's", arguments: ["signing", "seal"])
    func exchanged(kind: String) async throws {
        let house = try await House()
        let key = try KeyRing.signingKey().publicKey
        try await house.file.pool.write { database in
            try database.execute(
                sql: "UPDATE keys SET public = ? WHERE kind = ? AND retired_at IS NULL",
                arguments: [Data(key.key), kind])
        }
        await #expect(throws: AuthorityError.failed(
            layer: "store", text: "the column public is damaged")) {
            try await house.authority.reloadSigningKeys()
        }
        await #expect(throws: AuthorityError.self) {
            try await house.authority.rotate(to: KeyRing.signingKey(), actor: "test")
        }
    }
}
