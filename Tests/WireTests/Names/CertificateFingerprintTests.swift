import Testing
import Wire

@Suite("Certificate fingerprint")
struct CertificateFingerprintTests {
    private static let bytes = (0..<32).map { UInt8($0 * 8 + 1) }
    private static let pairs = bytes.map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    @Test("is printed in one form, and read as the same")
    func inverse() throws {
        let value = try #require(CertificateFingerprint(bytes: Self.bytes))
        #expect(value.description.hasPrefix("SHA256:01:09:11:"))
        #expect(value.description.utf8.count == 7 + 95)
        #expect(CertificateFingerprint(value.description) == value)
    }

    private static let colons = pairs.joined(separator: ":")
    private static let plain = pairs.joined()
    private static let short = pairs.dropLast().joined()

    @Test("is read in every form that programs show", arguments: [
        colons, plain, plain.uppercased(), "SHA256:\(plain)", "sha256:\(colons)",
    ] as [String])
    func forms(text: String) {
        #expect(CertificateFingerprint(text)?.bytes == Self.bytes)
    }

    @Test("is nothing else", arguments: [
        "", "SHA256:", "SHA1:\(plain)", "\(colons):", ":\(colons)", "\(plain)0", "\(plain)00",
        "SHA256:SHA256:\(plain)", short, "\(short)+1", "\(short)0g", "\(short)１１",
        "ＳＨＡ256:\(plain)", String(repeating: "0:", count: 60),
    ] as [String])
    func faults(text: String) {
        #expect(CertificateFingerprint(text) == nil)
    }
}
