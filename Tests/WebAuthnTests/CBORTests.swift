import Testing
import WebAuthn

@Suite("CBOR")
struct CBORTests {
    /// Those of the examples that are values of WebAuthn, and in the shortest form.
    /// Source: RFC 8949, Appendix A.
    @Test("reads the published examples", arguments: [
        ("00", .unsigned(0)), ("01", .unsigned(1)), ("0a", .unsigned(10)), ("17", .unsigned(23)),
        ("1818", .unsigned(24)), ("1819", .unsigned(25)), ("1864", .unsigned(100)),
        ("1903e8", .unsigned(1000)), ("1a000f4240", .unsigned(1_000_000)),
        ("1b000000e8d4a51000", .unsigned(1_000_000_000_000)),
        ("1bffffffffffffffff", .unsigned(18_446_744_073_709_551_615)),
        ("3bffffffffffffffff", .negative(18_446_744_073_709_551_615)),
        ("20", .integer(-1)), ("29", .integer(-10)), ("3863", .integer(-100)),
        ("3903e7", .integer(-1000)), ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")),
        ("6161", .text("a")), ("6449455446", .text("IETF")), ("62225c", .text("\"\\")),
        ("62c3bc", .text("\u{fc}")), ("63e6b0b4", .text("\u{6c34}")),
        ("64f0908591", .text("\u{10151}")), ("80", .array([])),
        ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
        ("8301820203820405", .array([
            .unsigned(1), .array([.unsigned(2), .unsigned(3)]),
            .array([.unsigned(4), .unsigned(5)]),
        ])),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819",
         .array((1...25).map { .unsigned($0) })),
        ("a0", .map([])),
        ("a201020304", .map([
            .init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .unsigned(4)),
        ])),
        ("a26161016162820203", .map([
            .init(.text("a"), .unsigned(1)),
            .init(.text("b"), .array([.unsigned(2), .unsigned(3)])),
        ])),
        ("826161a161626163", .array([
            .text("a"), .map([.init(.text("b"), .text("c"))]),
        ])),
        ("a56161614161626142616361436164614461656145", .map(
            ["a", "b", "c", "d", "e"].map { .init(.text($0), .text($0.uppercased())) })),
    ] as [(String, CBOR)])
    func published(hex: String, value: CBOR) throws {
        #expect(try CBOR(reading: bytes(hex)) == value)
    }

    /// Source: RFC 8949, Appendix A: floats, tags, simple values and indefinite lengths.
    @Test("refuses the published examples of kinds that WebAuthn does not use", arguments: [
        ("c249010000000000000000", .unsupported), ("c349010000000000000000", .unsupported),
        ("f90000", .unsupported), ("f93c00", .unsupported), ("fb3ff199999999999a", .unsupported),
        ("fa47c35000", .unsupported), ("f97e00", .unsupported), ("f7", .unsupported),
        ("f0", .unsupported), ("f8ff", .unsupported), ("c11a514b67b0", .unsupported),
        ("d818456449455446", .unsupported), ("5f42010243030405ff", .indefinite),
        ("7f657374726561646d696e67ff", .indefinite), ("9fff", .indefinite),
        ("9f018202039f0405ffff", .indefinite), ("83018202039f0405ff", .indefinite),
        ("bf61610161629f0203ffff", .indefinite), ("bf6346756ef563416d7421ff", .indefinite),
        ("826161bf61626163ff", .indefinite), ("a201020304ff", .trailing),
    ] as [(String, CBOR.Fault)])
    func refused(hex: String, fault: CBOR.Fault) {
        #expect(throws: fault) { try CBOR(reading: bytes(hex)) }
    }

    @Test("refuses numbers and lengths that have a shorter form", arguments: [
        "1800", "1817", "190000", "1900ff", "1a00000000", "1a0000ffff", "1b0000000000000000",
        "1b00000000ffffffff", "3817", "5800", "5817", "590001ff", "7817", "9800", "b800",
    ])
    func shortest(hex: String) {
        let input = bytes(hex) + [UInt8](repeating: 0, count: 32)
        #expect(throws: CBOR.Fault.notShortest) { try CBOR(reading: input) }
    }

    @Test("refuses what ends too early, before it makes room for it", arguments: [
        "", "18", "19", "1a", "1b", "1901", "1a0102", "1b01020304050607", "38", "58", "41",
        "5affffffff00", "5bffffffffffffffff010203", "7affffffff00", "61", "81", "9affffffff00",
        "9bffffffffffffffff", "8181818181", "a1", "a101", "a20102", "baffffffff00",
        "bbffffffffffffffff", "5b7fffffffffffffff00", "9b7fffffffffffffff00",
    ])
    func truncated(hex: String) {
        #expect(throws: CBOR.Fault.truncated) { try CBOR(reading: bytes(hex)) }
    }

    @Test("refuses reserved lengths", arguments: ["1c", "1d", "1e", "3c", "5c", "7d", "9e", "bc"])
    func reserved(hex: String) {
        #expect(throws: CBOR.Fault.unsupported) { try CBOR(reading: bytes(hex)) }
    }

    @Test("refuses indefinite lengths of every kind", arguments: ["1f", "3f", "5f", "7f", "ff"])
    func indefinite(hex: String) {
        #expect(throws: CBOR.Fault.indefinite) { try CBOR(reading: bytes(hex)) }
    }

    @Test("refuses a key twice, and a key that is no integer and no text", arguments: [
        ("a201000100", .duplicateKey), ("a2616100616100", .duplicateKey),
        ("a3010002000100", .duplicateKey), ("a220002000", .duplicateKey),
        ("a1400000", .badKey), ("a18000", .badKey), ("a1a000", .badKey), ("a1f500", .badKey),
        ("a1f600", .badKey),
    ] as [(String, CBOR.Fault)])
    func keys(hex: String, fault: CBOR.Fault) {
        #expect(throws: fault) { try CBOR(reading: bytes(hex)) }
    }

    @Test("refuses text that is not UTF-8", arguments: ["61ff", "62c080", "63eda080", "61c3"])
    func text(hex: String) {
        #expect(throws: CBOR.Fault.badText) { try CBOR(reading: bytes(hex)) }
    }

    @Test("reads four levels, and no fifth")
    func depth() throws {
        #expect(try CBOR(reading: bytes("81818180")) == .array([.array([.array([.array([])])])]))
        #expect(throws: CBOR.Fault.tooDeep) { try CBOR(reading: bytes("8181818180")) }
        #expect(throws: CBOR.Fault.tooDeep) { try CBOR(reading: bytes("a101a101a101a101a0")) }
        let deep = [UInt8](repeating: 0x81, count: CBOR.limit)
        #expect(throws: CBOR.Fault.tooDeep) { try CBOR(reading: deep) }
    }

    @Test("reads no more than its limit, and nothing after the value")
    func limits() throws {
        let large = [0x59, 0x1F, 0xFD] + [UInt8](repeating: 7, count: CBOR.limit - 3)
        #expect(try CBOR(reading: large).asBytes?.count == CBOR.limit - 3)
        #expect(throws: CBOR.Fault.tooLong) { try CBOR(reading: large + [0]) }
        #expect(throws: CBOR.Fault.trailing) { try CBOR(reading: [0, 0]) }
        var reader = CBORReader([0x01, 0x02])
        #expect(try reader.value() == .unsigned(1))
        #expect(Array(reader.rest) == [2])
    }
}

/// The bytes that hexadecimal text names.
func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map {
        UInt8(digits[$0] * 16 + digits[$0 + 1])
    }
}
