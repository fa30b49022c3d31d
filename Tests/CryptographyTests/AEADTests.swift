import Sessions
import Testing

import Cryptography

@Suite("AES-256-GCM")
struct AEADTests {
    struct Group: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let key: Hex
            let iv: Hex
            let aad: Hex
            let msg: Hex
            let ct: Hex
            let tag: Hex
            let result: String
        }

        let ivSize: Int
        let keySize: Int
        let tagSize: Int
        let tests: [Case]

        var isOurs: Bool { (keySize, ivSize, tagSize) == (256, 96, 128) }
    }

    @Test("agrees with Wycheproof, alternating directions in one context")
    func vectors() throws {
        guard let file = try Vectors.load("aes_gcm_test.json", as: Wycheproof<Group>.self) else {
            return
        }
        let cases = file.testGroups.filter(\.isOurs).flatMap(\.tests)
        #expect(cases.count == 66)
        for test in cases {
            var cipher = try RecordCipher(key: SecretBytes(test.key.bytes))
            let (nonce, aad) = (test.iv.bytes, test.aad.bytes)
            let sealed = test.ct.bytes + test.tag.bytes
            for _ in 1...2 {
                var text: [UInt8] = [9]
                var record: [UInt8] = [9]
                if test.result == "valid" {
                    try cipher.open(sealed.span, nonce: nonce.span, aad: aad.span, into: &text)
                    #expect(text == [9] + test.msg.bytes, "case \(test.tcId)")
                    try cipher.seal(
                        test.msg.bytes.span, nonce: nonce.span, aad: aad.span, into: &record)
                    #expect(record == [9] + sealed, "case \(test.tcId)")
                } else {
                    #expect(throws: CryptographyError.notAuthentic, "case \(test.tcId)") {
                        try cipher.open(sealed.span, nonce: nonce.span, aad: aad.span, into: &text)
                    }
                    #expect(text == [9], "what was forged is taken back")
                }
            }
        }
    }

    @Test("refuses keys, nonces and messages of the wrong length", arguments: 0...40)
    func lengths(count: Int) throws {
        let bytes = [UInt8](repeating: 1, count: count)
        let key = SecretBytes([UInt8](repeating: 2, count: 32))
        let nonce = [UInt8](repeating: 3, count: 12)
        if count != 32 {
            let error = failure {
                try AES256GCM.seal([], key: SecretBytes(bytes), nonce: nonce, aad: [])
            }
            #expect(error == .malformed)
        }
        if count != 12 {
            let error = failure { try AES256GCM.seal([], key: key, nonce: bytes, aad: []) }
            #expect(error == .malformed)
        }
        let error = failure { try AES256GCM.open(bytes, key: key, nonce: nonce, aad: []) }
        #expect(error == (count < 16 ? .malformed : .notAuthentic))
    }

    @Test("finds every flipped bit of message, nonce, data and key")
    func flippedBits() throws {
        let key = [UInt8](repeating: 2, count: 32)
        let nonce = [UInt8](repeating: 3, count: 12)
        let aad: [UInt8] = [1, 2, 3]
        let sealed = try AES256GCM.seal([1, 2, 3, 4], key: SecretBytes(key), nonce: nonce, aad: aad)
        let whole = key + nonce + aad + sealed
        for bit in 0..<whole.count * 8 {
            let bytes = flipped(whole, bit: bit)
            let error = failure {
                try AES256GCM.open(
                    Array(bytes[47...]), key: SecretBytes(bytes[..<32]),
                    nonce: Array(bytes[32..<44]), aad: Array(bytes[44..<47]))
            }
            #expect(error == .notAuthentic, "bit \(bit)")
        }
    }

    @Test("goes on after a record that would not open")
    func recovers() throws {
        var cipher = try RecordCipher(key: RandomBytes.secret(32))
        let nonce = try RandomBytes.make(12)
        var sealed: [UInt8] = []
        try cipher.seal([1, 2, 3].span, nonce: nonce.span, aad: [4].span, into: &sealed)
        var text: [UInt8] = []
        let forged = flipped(sealed, bit: 0)
        #expect(throws: CryptographyError.notAuthentic) {
            try cipher.open(forged.span, nonce: nonce.span, aad: [4].span, into: &text)
        }
        try cipher.open(sealed.span, nonce: nonce.span, aad: [4].span, into: &text)
        #expect(text == [1, 2, 3])
    }
}
