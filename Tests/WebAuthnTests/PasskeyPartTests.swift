import Sessions
import Testing
import WebAuthn

@Suite("Relying party")
struct RelyingPartyTests {
    @Test("has the host as its id, and the origin as browsers write it", arguments: [
        ("https://authority.example", "authority.example", "https://authority.example"),
        ("https://Authority.Example:443/page", "authority.example", "https://authority.example"),
        ("https://authority.example:8443", "authority.example", "https://authority.example:8443"),
        ("http://localhost:8080", "localhost", "http://localhost:8080"),
        ("http://gate.localhost", "gate.localhost", "http://gate.localhost"),
        ("https://raspberrypi", "raspberrypi", "https://raspberrypi"),
    ])
    func works(url: String, id: String, origin: String) {
        let site = RelyingParty(publicURL: url)
        #expect(site.id == id)
        #expect(site.origin == origin)
        #expect(site.problem == nil)
    }

    @Test("says why passkeys cannot work", arguments: [
        ("http://127.0.0.1:8080", .address), ("https://192.0.2.7", .address),
        ("https://[2001:db8::1]:8443", .address), ("https://0x7f.1", .address),
        ("https://1.2.3.0x4", .address), ("https://", .address), ("https://a..b", .address),
        ("http://authority.example", .insecure), ("http://mylocalhost", .insecure),
    ] as [(String, RelyingParty.Problem)])
    func problems(url: String, problem: RelyingParty.Problem) {
        #expect(RelyingParty(publicURL: url).problem == problem)
    }
}

/// The members of a login, but for the end.
private let rest = #"{"type":"webauthn.get","challenge":"AQID","origin":"https://example.org""#

@Suite("Client data")
struct ClientDataTests {
    private static let site = RelyingParty(publicURL: "https://example.org")

    private func fault(of json: String) -> PasskeyFault? {
        do throws(PasskeyFault) {
            try ClientData(parsing: Array(json.utf8))
                .check(.get, challenge: [1, 2, 3], at: Self.site)
            return nil
        } catch {
            return error
        }
    }

    @Test("is checked member by member", arguments: [
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"https://example.org"}"#, nil),
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"https://example.org","x":[1]}"#,
         nil),
        (#"{"type":"webauthn.create","challenge":"AQID","origin":"https://example.org"}"#,
         .ceremony),
        (#"{"type":"webauthn.get","challenge":"AQIE","origin":"https://example.org"}"#,
         .challenge),
        (#"{"type":"webauthn.get","challenge":"","origin":"https://example.org"}"#, .challenge),
        (#"{"type":"webauthn.get","challenge":"AQID=","origin":"https://example.org"}"#,
         .malformed),
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"https://example.org."}"#, .origin),
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"http://example.org"}"#, .origin),
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"https://a.example.org"}"#,
         .origin),
        (#"{"type":"webauthn.get","challenge":"AQID","origin":"null"}"#, .origin),
        (#"{"type":"webauthn.get","challenge":"AQID"}"#, .malformed),
        (#"{"type":7,"challenge":"AQID","origin":"https://example.org"}"#, .malformed),
        (rest + #","crossOrigin":false,"topOrigin":null}"#, nil),
        (rest + #","crossOrigin":true}"#, .embedded),
        (rest + #","crossOrigin":"no"}"#, .malformed),
        (rest + #","topOrigin":"https://example.com"}"#, .embedded),
        (rest + #","origin":"https://example.org"}"#, .malformed),
        ("[]", .malformed), ("", .malformed), ("{", .malformed),
    ] as [(String, PasskeyFault?)])
    func members(json: String, expected: PasskeyFault?) {
        #expect(fault(of: json) == expected)
    }

    @Test("is not read beyond its limit")
    func limit() {
        let long = String(repeating: " ", count: ClientData.limit)
        let json = #"{"type":"webauthn.get","challenge":"AQID","origin":"https://example.org"}"#
        #expect(fault(of: json + long) == .malformed)
    }
}

@Suite("Credential keys")
struct PasskeyKeyTests {
    private static let x = String(repeating: "11", count: 32)
    private static let y = String(repeating: "22", count: 32)

    @Test("have exactly the parameters of their algorithm", arguments: [
        ("a5010203262001215820\(x)225820\(y)", nil),
        // The parameters in another order are the same key.
        ("a5032601022001215820\(x)225820\(y)", nil),
        ("a401010327200621 5820\(x)", nil),
        ("a401030339010020420102 2143010001", nil),
        // ES256 with another curve, type, or a compressed point.
        ("a5010203262002215820\(x)225820\(y)", .malformed),
        ("a5010103262001215820\(x)225820\(y)", .algorithm),
        ("a5010203262001215820\(x)22f5", .malformed),
        ("a5010203262001215821\(x)00225820\(y)", .malformed),
        ("a4010203262001215820\(x)", .malformed),
        // One parameter more, which is a private half or a list of uses.
        ("a6010203262001215820\(x)225820\(y)235820\(x)", .malformed),
        ("a60102032604812001 2001215820\(x)225820\(y)", .malformed),
        // EdDSA with X25519, with Ed448, and said to be ES256.
        ("a4010103272004215820\(x)", .malformed), ("a4010103272007215820\(x)", .malformed),
        ("a4010103262006215820\(x)", .algorithm),
        // Algorithms that nobody asked for: ES384, RS1, PS256, ES256K, HMAC, and none.
        ("a5010203382220 02215820\(x)225820\(y)", .algorithm),
        ("a4010303 39fffe 20420102 2143010001", .algorithm),
        ("a401030338242042010221 43010001", .algorithm),
        ("a50102 03382e 2008215820\(x)225820\(y)", .algorithm),
        ("a301040305205820\(x)", .algorithm), ("a0", .algorithm), ("01", .algorithm),
        ("a4010220 01215820\(x)225820\(y)", .algorithm),
        ("a50102032620012158 20\(x)225820\(y)00", .malformed), ("", .malformed),
    ] as [(String, PasskeyFault?)])
    func parameters(hex: String, fault: PasskeyFault?) {
        expect(fault) { () throws(PasskeyFault) in _ = try PasskeyKey(cose: bytes(hex)) }
    }

    @Test("are offered in this order")
    func offered() { #expect(PasskeyKey.algorithms == [-7, -8, -257]) }
}

@Suite("Authenticator data")
struct AuthenticatorDataTests {
    private static let hash = [UInt8](repeating: 9, count: 32)
    private static let key = bytes("a401010327200621 5820" + String(repeating: "11", count: 32))

    private static func data(_ flags: UInt8, _ rest: [UInt8] = []) -> [UInt8] {
        hash + [flags, 0x01, 0x02, 0x03, 0x04] + rest
    }

    private static func credential(_ count: Int, _ id: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: 16)
            + [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + id + key
    }

    @Test("has a counter, and a credential and extensions where the flags say so")
    func parts() throws {
        let plain = try AuthenticatorData(parsing: Self.data(0x05))
        #expect(plain.counter == 0x0102_0304)
        #expect(plain.siteHash == Self.hash)
        #expect(plain.credential == nil)
        let made = try AuthenticatorData(
            parsing: Self.data(0xC5, Self.credential(2, [7, 8]) + [0xA0]))
        #expect(made.credential?.id == [7, 8])
        #expect(made.credential?.coseKey == Self.key)
    }

    @Test("is refused if it is cut, if it is longer, and if a length is wrong")
    func malformed() {
        let whole = Self.data(0xC5, Self.credential(2, [7, 8]) + [0xA1, 0x61, 0x61, 0x00])
        var wrong = (0..<whole.count).map { Array(whole[..<$0]) }
        wrong.append(whole + [0])
        wrong.append(Self.data(0x05, [0]))
        wrong.append(Self.data(0x45, Self.credential(0, [])))
        wrong.append(Self.data(0x45, Self.credential(1024, [UInt8](repeating: 1, count: 1024))))
        wrong.append(Self.data(0x45, Self.credential(3, [7, 8])))
        wrong.append(Self.data(0x45, Self.credential(0xFFFF, [7, 8])))
        wrong.append(Self.data(0x85, [0x80]))
        wrong.append(Self.data(0x85))
        for bytes in wrong {
            var isRefused = false
            do throws(PasskeyFault) {
                _ = try AuthenticatorData(parsing: bytes)
            } catch {
                isRefused = error == .malformed || error == .algorithm
            }
            #expect(isRefused, "\(bytes.count) bytes")
        }
    }

    @Test("shows a copy by a counter that does not grow", arguments: [
        (0, 0, false), (0, 1, false), (1, 2, false), (5, 5, true), (5, 4, true), (5, 0, true),
    ] as [(UInt32, UInt32, Bool)])
    func counters(last: UInt32, next: UInt32, isCloned: Bool) throws {
        let count = (0..<4).reversed().map { UInt8(truncatingIfNeeded: next >> ($0 * 8)) }
        let data = try AuthenticatorData(parsing: Self.hash + [0x05] + count)
        #expect(data.isCloned(after: last) == isCloned)
    }
}
