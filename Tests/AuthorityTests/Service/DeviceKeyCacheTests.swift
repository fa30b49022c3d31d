import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("The device key that is tried first", .everyStore)
struct DeviceKeyCacheTests {
    private static func bodies(_ live: LiveBoard) -> [BoardMessage.Body] {
        let tokens = live.provision.tokens
        return [
            .authenticate(tokens.session, durationMinutes: nil), .refresh(tokens.refresh),
            .list(tokens.session), .user(tokens.session), .revoke(tokens.session), .unknown,
        ]
    }

    @Test("answers nobody by a key that the store no longer has")
    func replaced() async throws {
        let house = try await House()
        let authority = house.authority
        let ada = try await house.login()
        let old = try await house.provisioned(BoardDouble(), by: ada)
        let board = old.board.installation
        let oldKey = old.board.key.publicKey.rawRepresentation
        let answered = try old.payload(Self.bodies(old)[0])
        let first = try await authority.hear(answered, from: board)
        #expect(try old.reply(in: first.answer).result != nil)
        #expect(first.key == oldKey)

        // The board lost its state folder and made another device key.
        try await authority.release(board, by: ada)
        _ = try await house.provisioned(BoardDouble(installation: board), by: ada)
        var payloads = try Self.bodies(old).map { try old.payload($0) }
        // A request that cannot be read is refused by name, but not to this key.
        let text = Array(#"{"id":"\#(try MessageID.fresh())","type":"session.list"}"#.utf8)
        payloads.append(try old.board.seal(text, to: old.sealKey))
        // Nor is one that was answered before.
        payloads.append(answered)
        for payload in payloads {
            let heard = try await authority.hear(payload, from: board, trying: oldKey)
            #expect(heard.answer == .dropped(.unopened))
            #expect(heard.key == nil)
            let triaged = try await authority.triage(payload, from: board, at: .drowning) { _ in
                false
            }
            #expect(triaged == .dropped(.unopened))
        }
    }

    @Test("finds the key that took another one's place")
    func found() async throws {
        let house = try await House()
        let ada = try await house.login()
        let old = try await house.provisioned(BoardDouble(), by: ada)
        let board = old.board.installation
        try await house.authority.release(board, by: ada)
        let new = try await house.provisioned(BoardDouble(installation: board), by: ada)
        let newKey = new.board.key.publicKey.rawRepresentation
        for key in [old.board.key.publicKey.rawRepresentation, newKey] {
            let heard = try await house.authority.hear(
                try new.payload(Self.bodies(new)[0]), from: board, trying: key)
            #expect(try new.reply(in: heard.answer).result != nil)
            #expect(heard.key == newKey)
        }
    }

    @Test("is forgotten where there is none, and kept for a bounded number of boards")
    func bounded() throws {
        let cache = DeviceKeyCache()
        let board = try BoardDouble().installation
        cache.remember([1], of: board)
        cache.remember(nil, of: board)
        #expect(cache.key(of: board) == nil && cache.count == 0)
        for number in 0...DeviceKeyCache.limit {
            cache.remember([1], of: InstallationID(random: (0..<16).map { place in
                UInt8(truncatingIfNeeded: number >> (8 * min(place, 7)))
            }))
        }
        #expect(cache.count == DeviceKeyCache.limit)
    }
}
