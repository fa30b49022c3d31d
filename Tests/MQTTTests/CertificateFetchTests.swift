import Foundation
import Glibc
import LinuxIO
import MQTT
import Testing
import Wire

@Suite("Certificate fetch")
struct CertificateFetchTests {
    /// A broker that shows its own certificate and, where `showsCA`, the one that signed it.
    private func broker(showsCA: Bool, _ lines: [String] = []) throws -> TestBroker {
        try TestBroker(listenerLines: [
            "allow_anonymous true", "certfile FOLDER/chain.pem", "keyfile FOLDER/broker.key",
        ] + lines) { folder in
            try TestAuthority(folder).issue("broker", "DNS:somewhere.else")
            let own = try String(contentsOfFile: folder + "/broker.pem", encoding: .utf8)
            let signer = try String(contentsOfFile: folder + "/ca.pem", encoding: .utf8)
            try (showsCA ? own + signer : own).write(
                toFile: folder + "/chain.pem", atomically: true, encoding: .utf8)
        }
    }

    private func fingerprint(_ name: String, of broker: TestBroker) throws
        -> CertificateFingerprint
    {
        try TestAuthority(existing: broker.folder).fingerprint(name)
    }

    private func fetch(
        _ broker: TestBroker, _ fingerprint: CertificateFingerprint
    ) throws(MQTTError) -> String {
        let uri: BrokerURI
        do throws(BrokerURI.ParseError) {
            uri = try BrokerURI("mqtts://127.0.0.1:\(broker.port)")
        } catch {
            throw .invalid("\(error)")
        }
        return try CertificateFetch.authority(of: uri, fingerprint: fingerprint)
    }

    @Test("brings the CA whose fingerprint was given", arguments: [
        [], ["cafile FOLDER/ca.pem", "require_certificate true"],
        ["cafile FOLDER/ca.pem", "require_certificate true", "tls_version tlsv1.2"],
    ])
    func found(lines: [String]) throws {
        let broker = try broker(showsCA: true, lines)
        let pem = try fetch(broker, fingerprint("ca", of: broker))
        #expect(pem == (try String(contentsOfFile: broker.folder + "/ca.pem", encoding: .utf8)))
    }

    @Test("refuses any other fingerprint, and a chain without the CA")
    func notFound() throws {
        let broker = try broker(showsCA: true)
        let other = try #require(CertificateFingerprint(bytes: [UInt8](repeating: 7, count: 32)))
        #expect(throws: MQTTError.tls("the server sends no CA certificate with that fingerprint")) {
            try fetch(broker, other)
        }
        let silent = try self.broker(showsCA: false)
        #expect(throws: MQTTError.tls("the server sends no CA certificate with that fingerprint")) {
            try fetch(silent, fingerprint("ca", of: silent))
        }
    }

    @Test("refuses a server's own certificate, which may sign nobody")
    func noAuthority() throws {
        let broker = try broker(showsCA: true)
        #expect(throws: MQTTError.self) { try fetch(broker, fingerprint("broker", of: broker)) }
    }

    @Test("names TCP where nobody answers, and TLS where the other side speaks none")
    func layers() throws {
        let some = try #require(CertificateFingerprint(bytes: [UInt8](repeating: 7, count: 32)))
        let (listener, port) = try Loopback.listener()
        let silent = try BrokerURI("mqtts://127.0.0.1:\(port)")
        func failure(_ uri: BrokerURI, _ limit: Duration) -> MQTTError? {
            #expect(throws: MQTTError.self) {
                try CertificateFetch.authority(of: uri, fingerprint: some, timeout: limit)
            }
        }
        #expect(failure(silent, .seconds(2)) == .tls("no handshake in time"))
        close(listener)
        #expect(failure(silent, .seconds(30))?.layer == .tcp)
        let plain = try TestBroker()
        let uri = try BrokerURI("mqtts://127.0.0.1:\(plain.port)")
        #expect(failure(uri, .seconds(30))?.layer == .tls)
        #expect(failure(try BrokerURI("mqtt://127.0.0.1"), .seconds(30))?.layer == nil)
        #expect(failure(try BrokerURI("mqtts://name.invalid"), .seconds(30))?.layer == .nameLookup)
    }
}
