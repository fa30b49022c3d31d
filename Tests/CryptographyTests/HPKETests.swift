import Sessions
import Testing

@testable import Cryptography

@Suite("HPKE")
struct HPKETests {
    let board: X25519PrivateKey
    let authority: X25519PrivateKey
    let stranger: X25519PrivateKey
    let psk = HPKE.PreSharedKey(key: SecretBytes([UInt8](repeating: 7, count: 32)), id: [1, 2])
    let info = Array("postern/v1 sealed".utf8)
    let aad = Array("postern/v1/x/inbox".utf8)
    let text = Array("the key under the mat".utf8)

    init() throws {
        board = try X25519PrivateKey()
        authority = try X25519PrivateKey()
        stranger = try X25519PrivateKey()
    }

    private func sealAuth(_ text: [UInt8]) throws -> HPKE.Sealed {
        try HPKE.sealAuth(text, to: board.publicKey, from: authority, info: info, aad: aad)
    }

    private func openAuth(_ sealed: HPKE.Sealed) throws -> [UInt8] {
        try HPKE.openAuth(sealed, with: board, from: authority.publicKey, info: info, aad: aad)
    }

    private func sealPSK(_ text: [UInt8]) throws -> HPKE.Sealed {
        try HPKE.sealPSK(text, to: board.publicKey, info: info, aad: aad, psk: psk)
    }

    private func openPSK(_ sealed: HPKE.Sealed) throws -> [UInt8] {
        try HPKE.openPSK(sealed, with: board, info: info, aad: aad, psk: psk)
    }

    @Test("opens what it sealed, of any length", arguments: [0, 1, 15, 16, 17, 4096, 70_000])
    func roundTrip(count: Int) throws {
        let text = [UInt8](repeating: 0xA5, count: count)
        #expect(try openAuth(sealAuth(text)) == text)
        #expect(try openPSK(sealPSK(text)) == text)
    }

    @Test("a correspondence reads and writes the same messages")
    func correspondence() throws {
        let ours = try HPKE.Correspondence(own: board, peer: authority.publicKey)
        let theirs = try HPKE.Correspondence(own: authority, peer: board.publicKey)
        #expect(try openAuth(theirs.seal(text, info: info, aad: aad)) == text)
        #expect(try ours.open(sealAuth(text), info: info, aad: aad) == text)
        let own = try ours.seal(text, info: info, aad: aad)
        #expect(try theirs.open(own, info: info, aad: aad) == text)
        #expect(failure { try ours.open(own, info: info, aad: aad) } == .notAuthentic)
        let other = try HPKE.Correspondence(own: board, peer: stranger.publicKey)
        let sealed = try sealAuth(text)
        #expect(failure { try other.open(sealed, info: info, aad: aad) } == .notAuthentic)
    }

    @Test("never seals the same text to the same bytes")
    func fresh() throws {
        let (one, other) = (try sealAuth(text), try sealAuth(text))
        #expect(one.enc != other.enc)
        #expect(one.ct != other.ct)
    }

    @Test("finds every flipped bit")
    func flippedBits() throws {
        let auth = try sealAuth(text)
        let psk = try sealPSK(text)
        for bit in 0..<auth.ct.count * 8 {
            let auth = HPKE.Sealed(enc: auth.enc, ct: flipped(auth.ct, bit: bit))
            let psk = HPKE.Sealed(enc: psk.enc, ct: flipped(psk.ct, bit: bit))
            #expect(failure { try openAuth(auth) } == .notAuthentic, "ct bit \(bit)")
            #expect(failure { try openPSK(psk) } == .notAuthentic, "ct bit \(bit)")
        }
        for bit in 0..<auth.enc.count * 8 {
            let auth = HPKE.Sealed(enc: flipped(auth.enc, bit: bit), ct: auth.ct)
            let psk = HPKE.Sealed(enc: flipped(psk.enc, bit: bit), ct: psk.ct)
            #expect(failure { try openAuth(auth) } == .notAuthentic, "enc bit \(bit)")
            #expect(failure { try openPSK(psk) } == .notAuthentic, "enc bit \(bit)")
        }
    }

    @Test("refuses a message cut at any length")
    func truncated() throws {
        let sealed = try sealAuth(text)
        for count in 0..<sealed.ct.count {
            let cut = HPKE.Sealed(enc: sealed.enc, ct: Array(sealed.ct.prefix(count)))
            let expected: CryptographyError = count < 16 ? .malformed : .notAuthentic
            #expect(failure { try openAuth(cut) } == expected, "\(count) bytes")
        }
        for count in 0..<sealed.enc.count {
            let cut = HPKE.Sealed(enc: Array(sealed.enc.prefix(count)), ct: sealed.ct)
            #expect(failure { try openAuth(cut) } == .malformed, "\(count) bytes")
        }
        let longer = HPKE.Sealed(enc: sealed.enc + [0], ct: sealed.ct)
        #expect(failure { try openAuth(longer) } == .malformed)
    }

    @Test("refuses another recipient, sender, info or additional data")
    func authContext() throws {
        let sealed = try sealAuth(text)
        let sender = authority.publicKey
        let wrong: [() throws -> [UInt8]] = [
            { try HPKE.openAuth(sealed, with: stranger, from: sender, info: info, aad: aad) },
            {
                try HPKE.openAuth(
                    sealed, with: board, from: stranger.publicKey, info: info, aad: aad)
            },
            { try HPKE.openAuth(sealed, with: board, from: sender, info: [], aad: aad) },
            { try HPKE.openAuth(sealed, with: board, from: sender, info: info, aad: aad + [0]) },
            { try HPKE.open(sealed, with: board, info: info, aad: aad) },
            { try openPSK(sealed) },
        ]
        for open in wrong { #expect(failure(open) == .notAuthentic) }
    }

    @Test("refuses another psk, psk name, recipient, info or additional data")
    func pskContext() throws {
        let sealed = try sealPSK(text)
        let otherKey = HPKE.PreSharedKey(
            key: SecretBytes([UInt8](repeating: 8, count: 32)), id: psk.id)
        let otherName = HPKE.PreSharedKey(key: psk.key, id: psk.id + [0])
        let wrong: [() throws -> [UInt8]] = [
            { try HPKE.openPSK(sealed, with: board, info: info, aad: aad, psk: otherKey) },
            { try HPKE.openPSK(sealed, with: board, info: info, aad: aad, psk: otherName) },
            { try HPKE.openPSK(sealed, with: stranger, info: info, aad: aad, psk: psk) },
            { try HPKE.openPSK(sealed, with: board, info: [0], aad: aad, psk: psk) },
            { try HPKE.openPSK(sealed, with: board, info: info, aad: [], psk: psk) },
            { try openAuth(sealed) },
        ]
        for open in wrong { #expect(failure(open) == .notAuthentic) }
    }

    @Test("refuses a psk under 32 bytes or without a name")
    func weakPSK() throws {
        let short = HPKE.PreSharedKey(key: SecretBytes([UInt8](repeating: 7, count: 31)), id: [1])
        let nameless = HPKE.PreSharedKey(key: psk.key, id: [])
        for psk in [short, nameless] {
            let sealed = failure {
                try HPKE.sealPSK(text, to: board.publicKey, info: info, aad: aad, psk: psk)
            }
            #expect(sealed == .malformed)
        }
    }

    @Test("may be used by many threads with one key")
    func threads() async throws {
        let (board, authority, info) = (board, authority, info)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try (0..<50).allSatisfy { turn in
                        let text = [UInt8(number), UInt8(turn)]
                        let sealed = try HPKE.sealAuth(
                            text, to: board.publicKey, from: authority, info: info, aad: text)
                        return try HPKE.openAuth(
                            sealed, with: board, from: authority.publicKey, info: info, aad: text)
                            == text
                    }
                }
            }
            for try await passed in group { #expect(passed) }
        }
    }
}
