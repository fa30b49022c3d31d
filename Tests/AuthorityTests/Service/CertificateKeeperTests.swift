import AuthorityHTTP
import ConfigurationFiles
import Cryptography
import Foundation
import LinuxIO
import Logging
import Sessions
import Testing

@testable import AuthorityBroker
@testable import AuthorityService

@Suite("Certificate keeper")
struct CertificateKeeperTests {
    private static let day = Duration.seconds(86_400)

    /// A folder with a CA, and a keeper of both servers' certificates.
    private final class Bench {
        /// Gone with its owner.
        let place: String
        let folder: CertificateFolder
        let master: MasterKey
        let own: CertificateKeeper.Own
        let keeper: CertificateKeeper

        init(mayIssue: Bool = true) throws {
            place = FileManager.default.temporaryDirectory.path + "/keeper-\(UUID())"
            try PrivateFolder.prepare(place)
            try MasterKey.make(at: "\(place)/authority.key")
            master = try MasterKey(at: "\(place)/authority.key")
            folder = CertificateFolder(path: "\(place)/tls")
            try folder.found(name: "Home", wrapping: master, at: systemClock())
            own = CertificateKeeper.Own(
                folder: folder, authority: try folder.authority(wrapping: master),
                hosts: try CertificateFolder.hosts(["gate.example"]), servers: [.broker, .page])
            keeper = try CertificateKeeper(
                own: own,
                files: [.broker: folder.files(of: .broker), .page: folder.files(of: .page)],
                clientCAFile: nil, bell: nil, mayIssue: mayIssue,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        }

        deinit { try? FileManager.default.removeItem(atPath: place) }

        func shown(_ server: CertificateFolder.Server) throws -> Certificate {
            try #require(ServerCertificate.read(folder.files(of: server)).chain.first)
        }
    }

    @Test("renews what has less than 30 of its 90 days left, and nothing before", arguments: [
        (59, false), (61, true), (1000, true),
    ])
    func renewal(days: Int, isNew: Bool) async throws {
        let bench = try Bench()
        let before = try bench.shown(.broker)
        let later = systemClock() + Self.day * days
        await bench.keeper.look(at: later, mayIssue: true)
        let after = try bench.shown(.broker)
        #expect((after.sha256 != before.sha256) == isNew)
        #expect(bench.own.authority.certificate.signed(after))
        if isNew { #expect(after.notAfter - later > Self.day * 89) }
        #expect(try bench.shown(.page).sha256 != after.sha256)
    }

    @Test("makes none by a clock that is not believed, unless there is nothing to show")
    func disbelievedClock() async throws {
        let bench = try Bench(mayIssue: false)
        let before = try bench.shown(.broker)
        await bench.keeper.look(at: systemClock() + Self.day * 80, mayIssue: false)
        #expect(try bench.shown(.broker).sha256 == before.sha256)
        try PrivateFile.write(bench.folder.files(of: .broker).keyFile, Array("torn".utf8))
        await bench.keeper.look(at: systemClock(), mayIssue: false)
        #expect(try bench.shown(.broker).sha256 != before.sha256)
    }

    @Test("has a CA whose key the folder alone does not give away")
    func wrappedKey() throws {
        let bench = try Bench()
        let other = bench.place + "/other.key"
        try MasterKey.make(at: other)
        #expect(throws: (any Error).self) {
            try bench.folder.authority(wrapping: MasterKey(at: other))
        }
        let again = try bench.folder.authority(wrapping: bench.master)
        #expect(again.certificate.sha256 == bench.own.authority.certificate.sha256)
        // What is there already is left as it is.
        try bench.folder.found(name: "Else", wrapping: bench.master, at: systemClock())
        #expect(try bench.folder.certificate().sha256 == again.certificate.sha256)
    }

    @Test("takes another's name for this machine into account")
    func hosts() throws {
        let bench = try Bench()
        let shown = try bench.shown(.page)
        for host in ["gate.example", "localhost", "127.0.0.1", "::1"] {
            #expect(shown.covers(try #require(CertificateHost(host))))
        }
        let moved = CertificateKeeper.Own(
            folder: bench.folder, authority: bench.own.authority,
            hosts: try CertificateFolder.hosts(["new.example"]), servers: [.page])
        #expect(try CertificateKeeper.renew(.page, moved, at: systemClock(), mayIssue: true))
        #expect(try bench.shown(.page).covers(try #require(CertificateHost("new.example"))))
    }
}
