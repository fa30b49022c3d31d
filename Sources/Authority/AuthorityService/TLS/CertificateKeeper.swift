import AuthorityBroker
package import AuthorityCore
import AuthorityHTTP
import ConfigurationFiles
package import Cryptography
import Logging
package import Sessions

/// Keeps the certificates of the broker and the page current. It renews the authority's own
/// certificates before they expire, and reads files that were replaced. Both servers use the new
/// ones without a restart.
///
/// If a new certificate cannot be used, the old one stays.
package actor CertificateKeeper {
    /// The authority's own CA, and the servers and hosts that it certifies.
    package struct Own: Sendable {
        let folder: CertificateFolder
        package let authority: CertificateAuthority
        package let hosts: [CertificateHost]
        package let servers: Set<CertificateFolder.Server>

        package init(
            folder: CertificateFolder, authority: CertificateAuthority,
            hosts: [CertificateHost], servers: Set<CertificateFolder.Server>
        ) {
            (self.folder, self.authority) = (folder, authority)
            (self.hosts, self.servers) = (hosts, servers)
        }

        /// The CA's certificate as PEM.
        func certificateText() throws -> String {
            String(decoding: try authority.certificate.pem(), as: UTF8.self)
        }
    }

    package typealias Server = CertificateFolder.Server

    private let own: Own?
    private let files: [Server: TLSIdentity]
    private let bell: ReloadBell?
    private let logger: Logger
    private var shown: [Server: [UInt8]] = [:]
    /// The errors that were logged, so that each is logged once.
    private var complaints: [Server: String] = [:]
    /// The page's certificate; nil without TLS.
    nonisolated let page: ConsoleCertificate?

    private static let round = Duration.seconds(5)

    /// Reads or makes each server's certificate. Throws if a server would have none.
    init(
        own: Own?, files: [Server: TLSIdentity], clientCAFile: String?, bell: ReloadBell?,
        mayIssue: Bool, logger: Logger
    ) throws {
        self.own = own
        self.files = files
        self.bell = bell
        self.logger = logger
        for server in Server.allCases where own?.servers.contains(server) == true {
            _ = try Self.renew(server, own, at: systemClock(), mayIssue: mayIssue)
        }
        var page: ConsoleCertificate?
        for (server, files) in files {
            let read = try ServerCertificate.read(files)
            shown[server] = try Self.mark(read)
            guard server == .page else { continue }
            page = try ConsoleCertificate(
                chain: read.chain, key: read.key,
                clientAuthorities: clientCAFile.map(Self.clientAuthorities))
        }
        self.page = page
    }

    /// Checks every five seconds until its task is cancelled.
    func run(mayIssue: @escaping @Sendable () -> Bool) async {
        while !Task.isCancelled {
            await pause(Self.round)
            look(at: systemClock(), mayIssue: mayIssue())
        }
    }

    /// Checks once. `mayIssue`: the clock is believed, so that a new certificate is valid now.
    func look(at now: Timestamp, mayIssue: Bool) {
        for server in Server.allCases where files[server] != nil {
            do throws(AuthorityError) {
                if try Self.renew(server, own, at: now, mayIssue: mayIssue) {
                    logger.notice("a new certificate of the \(server) was made")
                }
                try take(server)
                complaints[server] = nil
            } catch {
                guard complaints.updateValue(error.words, forKey: server) != error.words else {
                    continue
                }
                logger.error("the \(server) keeps its old certificate: \(error.words)")
            }
        }
    }

    /// Uses the certificate in the files if it has changed.
    private func take(_ server: Server) throws(AuthorityError) {
        guard let files = files[server] else { return }
        let read = try ServerCertificate.read(files)
        do {
            let mark = try Self.mark(read)
            guard shown[server] != mark else { return }
            switch server {
            case .broker: bell?.ring()
            case .page:
                try page?.replace(chain: read.chain, key: read.key)
                logger.notice("the page uses a new certificate")
            }
            shown[server] = mark
        } catch {
            throw .failed(layer: "TLS", text: "\(files.certificateFile): \(error)")
        }
    }

    /// Identifies a certificate chain.
    private static func mark(_ certificate: ServerCertificate) throws -> [UInt8] {
        certificate.chain.flatMap(\.sha256)
    }

    /// Renews one of the authority's own certificates if it is due. Without a believed clock it
    /// only replaces one that cannot be used at all.
    package static func renew(
        _ server: Server, _ own: Own?, at now: Timestamp, mayIssue: Bool
    ) throws(AuthorityError) -> Bool {
        guard let own, own.servers.contains(server) else { return false }
        let root = own.authority.certificate
        if let current = try? ServerCertificate.read(own.folder.files(of: server)) {
            let isFine = mayIssue
                ? !current.isDue(under: root, for: own.hosts, at: now)
                : current.isUsable(under: root, for: own.hosts)
            if isFine { return false }
        }
        try own.folder.issue(server, by: own.authority, for: own.hosts, at: now)
        return true
    }

    private static func clientAuthorities(_ file: String) throws -> [Certificate] {
        try Certificate.chain(pem: ServerCertificate.readPublic(file))
    }
}
