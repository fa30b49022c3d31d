import Testing
@testable import AgentStore

@Suite("Key slot")
struct KeySlotTests {
    private static let text = """
        postern storage key 1
        source = tpm2
        check = AAEC
        parent = _-8

        """

    @Test("is one text, which gives it back")
    func inverse() throws {
        let slot = KeySlot(.tpm2, ["parent": [0xFF, 0xEF], "check": [0, 1, 2]])
        #expect(String(decoding: slot.bytes, as: UTF8.self) == Self.text)
        #expect(try KeySlot(parsing: slot.bytes) == slot)
        for tier in KeyTier.allCases {
            let slot = KeySlot(tier, [:])
            #expect(try KeySlot(parsing: slot.bytes) == slot)
        }
    }

    @Test("refuses every other text", arguments: [
        ("", .malformed),
        ("\n", .malformed),
        ("postern storage key 1\n", .malformed),
        ("postern storage key 1\nsource = tpm2", .malformed),
        ("postern storage key 1\nsource = tpm2\n\n", .malformed),
        ("postern storage key 01\nsource = tpm2\n", .malformed),
        ("postern storage key +1\nsource = tpm2\n", .malformed),
        ("postern storage key 0\nsource = tpm2\n", .malformed),
        ("postern storage key 99999999999999999999\nsource = tpm2\n", .malformed),
        ("Postern storage key 1\nsource = tpm2\n", .malformed),
        ("postern storage key 1\nsource =  tpm2\n", .malformed),
        ("postern storage key 1\nsource=tpm2\n", .malformed),
        ("postern storage key 1\ncheck = AAEC\nsource = tpm2\n", .malformed),
        ("postern storage key 1\nsource = tpm2\nparent = AA\ncheck = AA\n", .malformed),
        ("postern storage key 1\nsource = tpm2\ncheck = AA\ncheck = AA\n", .malformed),
        ("postern storage key 1\nsource = tpm2\ncheck = AB\n", .malformed),
        ("postern storage key 1\nsource = tpm2\ncheck = AA==\n", .malformed),
        ("postern storage key 1\nsource = tpm2\nCheck = AA\n", .malformed),
        ("postern storage key 1\nsource = tpm2\nchéck = AA\n", .malformed),
        ("postern storage key 1\r\nsource = tpm2\r\n", .malformed),
        ("postern storage key 1\nsource = tpm2\n"
            + "abcdefghi".map { "\($0) = AA\n" }.joined(), .malformed),
        ("postern storage key 2\nsource = moon\n", .newer(2)),
        ("postern storage key 1\nsource = moon\n", .unknownSource("moon")),
    ] as [(String, KeySlot.Fault)])
    func refuses(text: String, fault: KeySlot.Fault) {
        #expect(throws: fault) { try KeySlot(parsing: Array(text.utf8)) }
    }

    @Test("survives no flipped bit unseen")
    func flips() throws {
        let slot = KeySlot(.tpm2, ["parent": [0xFF, 0xEF], "check": [0, 1, 2]])
        for index in slot.bytes.indices {
            for bit in 0..<8 {
                var bytes = slot.bytes
                bytes[index] ^= 1 << bit
                #expect((try? KeySlot(parsing: bytes)) != slot)
            }
        }
    }

    @Test("is bounded before it is read")
    func bounded() {
        let long = Array(Self.text.utf8) + [UInt8](repeating: 10, count: KeySlot.limit)
        #expect(throws: KeySlot.Fault.malformed) { try KeySlot(parsing: long) }
    }
}
