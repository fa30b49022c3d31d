import Foundation
import Glibc
import LinuxIO
import MQTT
import Testing
import Wire

/// A certificate authority that lives as long as a test, made by the `openssl` command.
struct TestAuthority {
    let folder: String

    init(_ folder: String) throws {
        self.folder = folder
        try openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Test-CA"
                    + " -keyout ca.key -out ca.pem")
    }

    /// One that was made there before.
    init(existing folder: String) { self.folder = folder }

    /// Makes `name.pem` and `name.key`, for the hosts in `names` (subjectAltName).
    func issue(_ name: String, _ names: String) throws {
        try "subjectAltName=\(names)".write(
            toFile: folder + "/\(name).ext", atomically: true, encoding: .utf8)
        try openssl("req -newkey rsa:2048 -nodes -subj /CN=\(name)"
                    + " -keyout \(name).key -out \(name).csr")
        try openssl("x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial"
                    + " -days 2 -extfile \(name).ext -out \(name).pem")
    }

    /// The same with other dates, such as `+3 days` from now.
    func issue(_ name: String, _ names: String, from begins: String, to ends: String) throws {
        try issue(name, names)
        let day = { (text: String) in
            let days = Double(text.prefix { $0 != " " }) ?? 0
            return Date().addingTimeInterval(86_400 * days).formatted(.verbatim(
                "\(year: .defaultDigits)\(month: .twoDigits)\(day: .twoDigits)000000Z",
                timeZone: .gmt, calendar: Calendar(identifier: .gregorian)))
        }
        try "".write(toFile: folder + "/index.txt", atomically: true, encoding: .utf8)
        try """
            [ca]
            default_ca = test
            [test]
            database = index.txt
            new_certs_dir = .
            rand_serial = yes
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """.write(toFile: folder + "/ca.conf", atomically: true, encoding: .utf8)
        try openssl("ca -batch -notext -config ca.conf -cert ca.pem -keyfile ca.key"
            + " -in \(name).csr -out \(name).pem -extfile \(name).ext"
            + " -startdate \(day(begins)) -enddate \(day(ends))")
    }

    /// What `openssl x509` says of a certificate's SHA-256.
    func fingerprint(_ name: String) throws -> CertificateFingerprint {
        let text = try openssl("x509 -in \(name).pem -noout -fingerprint -sha256")
        let value = text.split(separator: "=").last?.trimmingCharacters(in: .whitespacesAndNewlines)
        return try #require(CertificateFingerprint(value ?? ""))
    }

    @discardableResult
    private func openssl(_ command: String) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = command.split(separator: " ").map(String.init)
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("openssl \(command)") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

@Suite("TLS")
struct TLSTests {
    private func broker(_ names: String, _ lines: [String] = []) throws -> TestBroker {
        try TestBroker(listenerLines: [
            "allow_anonymous true", "certfile FOLDER/broker.pem", "keyfile FOLDER/broker.key",
        ] + lines) { folder in
            try TestAuthority(folder).issue("broker", names)
        }
    }

    private func options(_ broker: TestBroker, _ host: String) throws -> ConnectOptions {
        var options = ConnectOptions(
            uri: try BrokerURI("mqtts://\(host):\(broker.port)"), address: "127.0.0.1",
            clientID: "test")
        options.tls.caFile = broker.folder + "/ca.pem"
        return options
    }

    @Test("carries messages to a broker whose name is checked", arguments: [
        ("DNS:broker.test", "broker.test"), ("DNS:*.example.test", "broker.example.test"),
        ("IP:127.0.0.1", "127.0.0.1"),
    ])
    func messages(names: String, host: String) throws {
        let broker = try broker(names)
        let client = try TestClient.connected(options(broker, host))
        try client.subscribe("a/#")
        let large = [UInt8](repeating: 7, count: 300_000)
        try client.publish(["a/1", "a/2"], large)
        try client.publish((3...40).map { "a/\($0)" }, [1])
        try client.run { $0.messages.count == 40 }
        #expect(client.topics == (1...40).map { "a/\($0)" })
        #expect(client.messages.first?.payload == large)
        try client.disconnect()
    }

    @Test("leaves nothing behind in OpenSSL when a read was bounded")
    func boundedRead() throws {
        let broker = try broker("DNS:broker.test")
        let client = try TestClient.connected(options(broker, "broker.test"))
        client.readLimit = 1
        try client.subscribe("a/#")
        let publisher = try TestClient.connected(
            ConnectOptions(uri: broker.socketURI, clientID: "publisher"))
        try publisher.publish((1...100).map { "a/\($0)" })
        try client.run { $0.messages.count == 100 }
        #expect(client.topics == (1...100).map { "a/\($0)" })
    }

    @Test("refuses a certificate for another host", arguments: [
        ("DNS:other.test", "broker.test"), ("DNS:broker.test", "127.0.0.1"),
        ("DNS:b*.example.test", "broker.example.test"), ("email:broker@broker.test", "broker.test"),
    ])
    func wrongHost(names: String, host: String) throws {
        let broker = try broker(names)
        let error = try TestClient.failure(options(broker, host))
        guard case .tls(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("mismatch"))
    }

    @Test("takes what begins later only where the clock may be slow, and never what has ended",
          arguments: [("+3 days", "+9 days", true), ("-9 days", "-3 days", false)])
    func dates(begins: String, ends: String, isTakenWhenSlow: Bool) throws {
        let broker = try TestBroker(listenerLines: [
            "allow_anonymous true", "certfile FOLDER/broker.pem", "keyfile FOLDER/broker.key",
        ]) { folder in
            try TestAuthority(folder).issue("broker", "DNS:broker.test", from: begins, to: ends)
        }
        var options = try options(broker, "broker.test")
        #expect(try TestClient.failure(options)?.layer == .tls)
        options.tls.isClockSlow = true
        if isTakenWhenSlow {
            try TestClient.connected(options).disconnect()
        } else {
            #expect(try TestClient.failure(options)?.layer == .tls)
        }
    }

    @Test("refuses an authority that is not known, also with the system's store", arguments: [
        true, false,
    ])
    func unknownAuthority(hasFile: Bool) throws {
        let broker = try broker("DNS:broker.test")
        let other = broker.folder + "/other"
        try FileManager.default.createDirectory(
            atPath: other, withIntermediateDirectories: false)
        _ = try TestAuthority(other)
        var strict = try options(broker, "broker.test")
        strict.tls.caFile = hasFile ? other + "/ca.pem" : nil
        #expect(try TestClient.failure(strict)?.layer == .tls)
    }

    @Test("shows a certificate of its own where one is asked for")
    func clientCertificate() throws {
        let broker = try TestBroker(listenerLines: [
            "certfile FOLDER/broker.pem", "keyfile FOLDER/broker.key",
            "cafile FOLDER/ca.pem", "require_certificate true", "allow_anonymous true",
        ]) { folder in
            let authority = try TestAuthority(folder)
            try authority.issue("broker", "DNS:broker.test")
            try authority.issue("board", "DNS:board.test")
        }
        var own = try options(broker, "broker.test")
        #expect(try TestClient.failure(own) != nil)
        own.tls.certificateFile = broker.folder + "/board.pem"
        own.tls.keyFile = broker.folder + "/board.key"
        try TestClient.connected(own).disconnect()
    }

    @Test("names TLS when a file is missing or the other side speaks none")
    func noTLS() throws {
        let plain = try TestBroker()
        var missing = try options(plain, "127.0.0.1")
        #expect(throws: MQTTError.self) { _ = try Connection(missing) }
        missing.tls.caFile = nil
        #expect(try TestClient.failure(missing)?.layer == .tls)
        let hangsUp = try FakeBroker { _ in nil }
        missing.uri = try BrokerURI("mqtts://127.0.0.1:\(hangsUp.port)")
        #expect(try TestClient.failure(missing)?.layer == .tls)
    }

    @Test("does not spin while a handshake stalls")
    func stalledHandshake() throws {
        let (listener, port) = try Loopback.listener()
        defer { close(listener) }
        let uri = try BrokerURI("mqtts://127.0.0.1:\(port)")
        var quiet = ConnectOptions(uri: uri, clientID: "test")
        quiet.keepAlive = 0
        let client = try TestClient(quiet)
        try client.idle(for: .milliseconds(500))
        #expect(!client.hasEnded)
        #expect(client.wakeups <= 4, "woke \(client.wakeups) times")
    }
}
