import Cryptography
import Foundation
import Sessions
import Testing

@Suite("Certificates")
struct CertificateTests {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)
    private static let day = 86_400

    private static func authority() throws -> CertificateAuthority {
        try CertificateAuthority(
            commonName: "Postern CA of Häuschen", now: now, lifetime: .seconds(9131 * day))
    }

    private static func hosts(_ texts: [String]) throws -> [CertificateHost] {
        try texts.map { try #require(CertificateHost($0)) }
    }

    private static func leaf(
        of authority: CertificateAuthority, _ texts: [String]
    ) throws -> (certificate: Certificate, key: CertificateKey) {
        let key = try CertificateKey()
        let request = CertificateRequest(
            .server(try hosts(texts)), commonName: texts.first ?? "", now: now,
            lifetime: .seconds(90 * day))
        return (try authority.issue(request, for: key), key)
    }

    @Test("of an authority say what RFC 5280 asks of one")
    func authorityFields() throws {
        let text = try OpenSSLCommand.text(of: Self.authority().certificate)
        for line in [
            "Version: 3 (0x2)", "Signature Algorithm: ecdsa-with-SHA256", "NIST CURVE: P-256",
            "X509v3 Basic Constraints: critical", "CA:TRUE, pathlen:0",
            "X509v3 Key Usage: critical", "Certificate Sign, CRL Sign",
            "X509v3 Subject Key Identifier", "CN = Postern CA of H\\C3\\A4uschen",
            "Not Before: Sep 20 14:13:20 2026 GMT", "Not After : Sep 21 14:13:20 2051 GMT",
        ] {
            #expect(text.contains(line), "\(line) is not in \(text)")
        }
    }

    @Test("of a server name its hosts and nothing that could sign")
    func serverFields() throws {
        let authority = try Self.authority()
        let leaf = try Self.leaf(
            of: authority, ["gate.example", "localhost", "192.0.2.7", "2001:db8::1"])
        let text = try OpenSSLCommand.text(of: leaf.certificate)
        for line in [
            "X509v3 Basic Constraints: critical", "CA:FALSE", "Digital Signature",
            "TLS Web Server Authentication", "X509v3 Authority Key Identifier",
            "DNS:gate.example, DNS:localhost, IP Address:192.0.2.7, "
                + "IP Address:2001:DB8:0:0:0:0:0:1",
            "Issuer: CN = Postern CA of H\\C3\\A4uschen", "Subject: CN = gate.example",
            "Not Before: Sep 20 14:13:20 2026 GMT", "Not After : Dec 20 14:13:20 2026 GMT",
        ] {
            #expect(text.contains(line), "\(line) is not in \(text)")
        }
        #expect(authority.certificate.signed(leaf.certificate))
        #expect(leaf.certificate.fits(leaf.key) && !leaf.certificate.fits(authority.key))
        #expect(leaf.certificate.notAfter == Self.now + .seconds(90 * Self.day))
        #expect(leaf.certificate.notBefore == Self.now - .seconds(Self.day))
    }

    @Test("are verified by openssl for their hosts alone", arguments: [
        ("gate.example", true), ("192.0.2.7", true), ("other.example", false),
        ("192.0.2.8", false), ("2001:db8::1", true),
    ])
    func verification(host: String, isGood: Bool) throws {
        let authority = try Self.authority()
        let leaf = try Self.leaf(of: authority, ["gate.example", "192.0.2.7", "2001:db8::1"])
        #expect(try OpenSSLCommand.verifies(
            leaf.certificate, by: authority.certificate, for: host, at: Self.now) == isGood)
        #expect(leaf.certificate.covers(try #require(CertificateHost(host))) == isGood)
        let other = try Self.authority()
        #expect(try !OpenSSLCommand.verifies(
            leaf.certificate, by: other.certificate, for: host, at: Self.now))
        #expect(!other.certificate.signed(leaf.certificate))
    }

    @Test("have serial numbers of 128 random bits")
    func serials() throws {
        let authority = try Self.authority()
        let serials = try (0..<8).map { _ in
            try OpenSSLCommand.run("x509 -noout -serial", Self.leaf(of: authority, ["a"])
                .certificate.pem())
        }
        #expect(Set(serials).count == 8)
        // One in 2^16 is shorter by two bytes or more.
        #expect(serials.allSatisfy { $0.utf8.count >= "serial=\n".utf8.count + 28 })
    }

    @Test("come back from PEM as they were, keys among them passed over")
    func inverse() throws {
        let authority = try Self.authority()
        let leaf = try Self.leaf(of: authority, ["gate.example"])
        let key = try leaf.key.pem()
        let text = key.reveal() + (try leaf.certificate.pem()) + (try authority.certificate.pem())
        let chain = try Certificate.chain(pem: text)
        #expect(chain.map(\.sha256) == [leaf.certificate.sha256, authority.certificate.sha256])
        #expect(chain.map(\.isRoot) == [false, true])
        let read = try CertificateKey(pem: SecretBytes(text))
        #expect(try chain.first?.fits(read) == true && read.pem().matches(key))
        let again = try CertificateAuthority(
            certificate: authority.certificate,
            key: CertificateKey(pem: authority.key.pem()))
        #expect(again.certificate.signed(try Self.leaf(of: again, ["x"]).certificate))
    }

    @Test("have the fingerprint that openssl shows")
    func fingerprint() throws {
        let certificate = try Self.authority().certificate
        let shown = try OpenSSLCommand.run(
            "x509 -noout -fingerprint -sha256", certificate.pem())
        let hex = certificate.sha256.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        #expect(shown.lowercased().contains(hex.joined(separator: ":")))
    }

    @Test("are not read from anything else", arguments: [
        "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n", String(repeating: "x", count: 2 << 20),
    ])
    func malformed(text: String) {
        #expect(throws: CryptographyError.malformed) {
            try Certificate.chain(pem: Array(text.utf8))
        }
        #expect(throws: CryptographyError.malformed) {
            try CertificateKey(pem: SecretBytes(Array(text.utf8)))
        }
    }

    @Test("under a passphrase have keys that nobody is asked for")
    func passphrase() throws {
        let key = try OpenSSLCommand.run(
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:x", [])
        #expect(throws: CryptographyError.malformed) {
            try CertificateKey(pem: SecretBytes(Array(key.utf8)))
        }
    }

    @Test("are issued by no key that may not sign, and for no host that is none")
    func refusals() throws {
        let authority = try Self.authority()
        let leaf = try Self.leaf(of: authority, ["gate.example"])
        #expect(throws: CryptographyError.malformed) {
            try CertificateAuthority(certificate: leaf.certificate, key: leaf.key)
        }
        #expect(throws: CryptographyError.malformed) {
            try CertificateAuthority(certificate: authority.certificate, key: leaf.key)
        }
        #expect(throws: CryptographyError.malformed) { try Self.leaf(of: authority, []) }
        for text in ["", "a,DNS:b", "a b", "a\nb", "::g", "a:b", "ä.example", "a\0b"] {
            #expect(CertificateHost(text) == nil)
        }
    }
}

/// The `openssl` program, as a second opinion.
enum OpenSSLCommand {
    static func text(of certificate: Certificate) throws -> String {
        try run("x509 -noout -text", certificate.pem())
    }

    static func verifies(
        _ certificate: Certificate, by authority: Certificate, for host: String,
        at time: Timestamp
    ) throws -> Bool {
        let file = FileManager.default.temporaryDirectory.path + "/ca-\(UUID()).pem"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data(authority.pem()).write(to: URL(fileURLWithPath: file))
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        let output = try run(
            "verify -x509_strict -purpose sslserver -attime \(time.seconds) -CAfile \(file) "
                + "-no-CApath \(isAddress ? "-verify_ip" : "-verify_hostname") \(host)",
            certificate.pem(), mayFail: true)
        return output.contains("OK")
    }

    static func run(_ command: String, _ input: [UInt8], mayFail: Bool = false) throws -> String {
        let process = Process()
        let (source, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = command.split(separator: " ").map(String.init)
        process.standardInput = source
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try source.fileHandleForWriting.write(contentsOf: Data(input))
        try source.fileHandleForWriting.close()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(mayFail || process.terminationStatus == 0, "openssl \(command)")
        return String(decoding: bytes, as: UTF8.self)
    }
}
