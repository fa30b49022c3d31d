import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("The cache of device keys", .everyStore)
struct DeviceKeyCacheTests {
    private let cache = DeviceKeyCache()

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
        let authority = house.reconfigured(deviceKeys: cache)
        let ada = try await house.login()
        let old = try await house.provisioned(BoardDouble(), by: ada)
        let board = old.board.installation
        let oldKey = old.board.key.publicKey.rawRepresentation
        let answered = try old.payload(Self.bodies(old)[0])
        #expect(try old.reply(in: await authority.handle(answered, from: board)).result != nil)
        #expect(cache.key(of: board) == oldKey)

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
            cache.remember(oldKey, of: board)
            #expect(try await authority.handle(payload, from: board) == .dropped(.unopened))
            #expect(cache.key(of: board) == nil)
            cache.remember(oldKey, of: board)
            let triaged = try await authority.triage(payload, from: board, at: .drowning) { _ in
                false
            }
            #expect(triaged == .dropped(.unopened))
        }
    }

    @Test("finds the key that took another one's place")
    func found() async throws {
        let house = try await House()
        let authority = house.reconfigured(deviceKeys: cache)
        let ada = try await house.login()
        let old = try await house.provisioned(BoardDouble(), by: ada)
        let board = old.board.installation
        _ = try await old.ask(Self.bodies(old)[0], of: authority)
        try await authority.release(board, by: ada)
        let new = try await house.provisioned(BoardDouble(installation: board), by: ada)
        for _ in 0..<2 {
            #expect(try await new.ask(Self.bodies(new)[0], of: authority).result != nil)
            #expect(cache.key(of: board) == new.board.key.publicKey.rawRepresentation)
        }
    }

    @Test("keeps to its bound")
    func bounded() {
        for number in 0...DeviceKeyCache.limit {
            cache.remember([1], of: InstallationID(random: (0..<16).map { place in
                UInt8(truncatingIfNeeded: number >> (8 * min(place, 7)))
            }))
        }
        #expect(cache.count == DeviceKeyCache.limit)
    }
}
