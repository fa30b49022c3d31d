import AuthorityCore
import Cryptography
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityService

@Suite("Key set")
struct KeySetTests {
    private static let x = Base64URL.encode([UInt8](repeating: 7, count: 32))
    private static let okp = #""kty":"OKP","crv":"Ed25519","x":"\#(x)""#
    private static let ec = #""kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(x)""#
    private static let rsa = #""kty":"RSA","e":"AQAB","n":""# + number(256) + "\""

    private static func number(_ count: Int, first: UInt8 = 0xC1) -> String {
        Base64URL.encode([first] + [UInt8](repeating: 0xFF, count: count - 1))
    }

    @Test("uses each key with its one algorithm", arguments: [
        (okp, "EdDSA"), (okp + #","alg":"EdDSA","use":"sig","key_ops":["verify"]"#, "EdDSA"),
        (ec, "ES256"), (ec + #","alg":"ES256""#, "ES256"), (rsa, "RS256"),
        (rsa + #","alg":"RS256""#, "RS256"), (rsa + #","alg":"PS256""#, "PS256"),
        (okp + #","x5c":["MIIB"],"unknown":{}"#, "EdDSA"),
    ])
    func usable(members: String, algorithm: String) throws {
        let set = try #require(read("{\(members)}"))
        #expect(set.entries.map(\.key.algorithm) == [algorithm])
    }

    @Test("passes over what it cannot use", arguments: [
        #""kty":"oct","k":"c2VjcmV0""#, #""kty":"OKP","crv":"X25519","x":"\#(x)""#,
        #""kty":"OKP","crv":"Ed448","x":"\#(x)""#, #""kty":"OKP","crv":"Ed25519","x":"AA""#,
        #""kty":"OKP","crv":"Ed25519","x":"\#(x)=""#, #""kty":"EC","crv":"P-256","x":"\#(x)""#,
        #""kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(x)""#,
        #""kty":"EC","crv":"secp256k1","x":"\#(x)","y":"\#(x)""#,
        #""kty":"RSA","e":"AQAB","n":"\#(number(255))""#,
        #""kty":"RSA","e":"AQAB","n":"\#(number(256, first: 0x7F))""#,
        #""kty":"RSA","e":"AQAB","n":"\#(number(257, first: 0))""#,
        #""kty":"RSA","e":"AQAB","n":"\#(number(1025))""#, #""kty":"RSA","n":"\#(number(256))""#,
        okp + #","use":"enc""#, okp + #","key_ops":["sign"]"#, okp + #","key_ops":"verify""#,
        okp + #","alg":"ES256""#, okp + #","alg":"none""#, rsa + #","alg":"RS512""#,
        rsa + #","alg":"HS256""#, rsa + #","alg":"RSA-OAEP""#, ec + #","alg":"ES512""#,
        okp + #","d":"\#(x)""#, okp + #","kid":7"#, #""crv":"Ed25519","x":"\#(x)""#, "",
    ])
    func unusable(members: String) throws {
        #expect(read("{\(members)}") == nil)
        #expect(read("{\(members)},{\(Self.okp)}")?.entries.count == 1)
    }

    @Test("is nothing without a usable key, and bounded", arguments: [
        "", "{}", "[]", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[7,null,"x"]}"#,
    ])
    func nothing(text: String) {
        #expect(IdentityKeySet(parsing: Array(text.utf8)) == nil)
    }

    @Test("is read to its 64th key and to 64 KiB")
    func bounds() throws {
        let keys = (0..<70).map { #"{\#(Self.okp),"kid":"\#($0)"}"# }
        #expect(read(keys.joined(separator: ","))?.entries.count == 64)
        let filler = String(repeating: " ", count: IdentityKeySet.limit)
        #expect(read("{\(Self.okp)}" + filler) == nil)
    }

    @Test("has the key that a token names, and one without a name only where it is alone")
    func selection() throws {
        let named = try #require(read(#"{\#(Self.okp),"kid":"a"},{\#(Self.ec),"kid":"b"}"#))
        #expect(try named.key(for: header("a", "EdDSA")).algorithm == "EdDSA")
        #expect(try named.key(for: header("b", "ES256")).algorithm == "ES256")
        #expect(throws: IDTokenFault.wrongKind) { try named.key(for: header("a", "ES256")) }
        #expect(throws: IDTokenFault.unknownKey) { try named.key(for: header("c", "EdDSA")) }
        #expect(throws: IDTokenFault.unknownKey) { try named.key(for: header(nil, "EdDSA")) }
        let nameless = try #require(read("{\(Self.okp)}"))
        #expect(try nameless.key(for: header(nil, "EdDSA")).algorithm == "EdDSA")
        #expect(try nameless.key(for: header("z", "EdDSA")).algorithm == "EdDSA")
        let both = try #require(read("{\(Self.okp)},{\(Self.ec)}"))
        #expect(throws: IDTokenFault.unknownKey) { try both.key(for: header("z", "EdDSA")) }
        // Two of one name: neither, whatever the token asks for.
        let twice = try #require(read(#"{\#(Self.okp),"kid":"a"},{\#(Self.ec),"kid":"a"}"#))
        #expect(throws: IDTokenFault.unknownKey) { try twice.key(for: header("a", "EdDSA")) }
    }

    private func read(_ keys: String) -> IdentityKeySet? {
        IdentityKeySet(parsing: Array(#"{"keys":[\#(keys)]}"#.utf8))
    }

    private func header(_ kid: String?, _ algorithm: String) throws -> IDTokenHeader {
        var members: [String: JSONValue] = ["alg": .string(algorithm)]
        members["kid"] = kid.map(JSONValue.string)
        return try IDTokenHeader(parsing: JSONValue.object(members).bytes)
    }
}

@Suite("Key set's cache")
struct KeySetCacheTests {
    /// A provider whose keys, failures and clock are the test's.
    private final class Source: Sendable {
        private struct State {
            var kids = ["a"]
            var failure: KeySetFailure?
            var reads = 0
            var now = Duration.zero
        }

        private let state = Mutex(State())

        var reads: Int { state.withLock { $0.reads } }
        func publish(_ kids: String...) { state.withLock { $0.kids = kids } }
        func fail(_ words: String?) {
            state.withLock { $0.failure = words.map { KeySetFailure(words: $0) } }
        }
        func advance(_ span: Duration) { state.withLock { $0.now += span } }

        func cache() -> KeySetCache {
            KeySetCache(
                read: { [self] in
                    let (kids, failure) = state.withLock { state in
                        state.reads += 1
                        return (state.kids, state.failure)
                    }
                    if let failure { return .failure(failure) }
                    guard let key = try? Ed25519PrivateKey().publicKey,
                        let keys = IdentityKeySet(parsing: JSONValue.object([
                            "keys": .array(kids.map { IDProvider.jwk(key, $0) })
                        ]).bytes)
                    else { return .failure(KeySetFailure(words: "test")) }
                    return .success(keys)
                },
                clock: { [self] in state.withLock { $0.now } })
        }
    }

    private func header(_ kid: String) throws -> IDTokenHeader {
        try IDTokenHeader(parsing: Array(#"{"alg":"EdDSA","kid":"\#(kid)"}"#.utf8))
    }

    @Test("reads once an hour, and for many at once")
    func hourly() async throws {
        let source = Source()
        let cache = source.cache()
        let known = try header("a")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try? await cache.keys(for: known) } }
        }
        #expect(source.reads == 1)
        source.advance(.seconds(3599))
        _ = try await cache.keys(for: known)
        #expect(source.reads == 1)
        source.advance(.seconds(1))
        _ = try await cache.keys(for: known)
        #expect(source.reads == 2)
    }

    @Test("reads for a key that it lacks at most once a minute")
    func unknown() async throws {
        let source = Source()
        let cache = source.cache()
        _ = try await cache.keys(for: header("a"))
        source.publish("a", "b")
        #expect(try await cache.keys(for: header("b")).entries.count == 1)
        source.advance(.seconds(59))
        #expect(try await cache.keys(for: header("b")).entries.count == 1)
        #expect(source.reads == 1)
        source.advance(.seconds(1))
        #expect(try await cache.keys(for: header("b")).entries.count == 2)
        for _ in 0..<5 { _ = try await cache.keys(for: header("c")) }
        #expect(source.reads == 2)
        source.advance(.seconds(60))
        for _ in 0..<5 { _ = try await cache.keys(for: header("c")) }
        #expect(source.reads == 3)
    }

    @Test("says why it has no keys, and tries again soon, but for a key it lacks after a minute")
    func failing() async throws {
        let source = Source()
        let cache = source.cache()
        let away = KeySetFailure(words: "TCP: away")
        source.fail(away.words)
        for _ in 0..<5 {
            await #expect(throws: away) { try await cache.keys(for: header("a")) }
        }
        #expect(source.reads == 1)
        source.advance(.seconds(5))
        await #expect(throws: away) { try await cache.keys(for: header("a")) }
        #expect(source.reads == 2)
        source.fail(nil)
        source.advance(.seconds(5))
        _ = try await cache.keys(for: header("a"))
        #expect(source.reads == 3)
        source.fail(away.words)
        source.advance(.seconds(60))
        await #expect(throws: away) { try await cache.keys(for: header("b")) }
        source.advance(.seconds(59))
        await #expect(throws: away) { try await cache.keys(for: header("b")) }
        #expect(source.reads == 4)
        // What it has still serves, until it is an hour old.
        _ = try await cache.keys(for: header("a"))
        source.advance(.seconds(3600))
        await #expect(throws: away) { try await cache.keys(for: header("a")) }
        source.fail(nil)
        source.advance(.seconds(5))
        _ = try await cache.keys(for: header("a"))
    }
}
