import AuthorityBroker
import AuthorityCore
import ConfigurationFiles
import Logging

// The parts of a server for TLS.
extension AuthorityServer {
    /// The authority's own CA; nil if none is configured.
    static func own(
        _ settings: ServiceSettings, _ folder: StateFolder
    ) throws -> CertificateKeeper.Own? {
        guard let hosts = settings.ownHosts else { return nil }
        return CertificateKeeper.Own(
            folder: folder.certificates,
            authority: try folder.certificates.authority(
                wrapping: MasterKey(at: folder.masterKey)),
            hosts: try CertificateFolder.hosts(hosts), servers: settings.ownServers)
    }

    static func keeper(
        _ settings: ServiceSettings, _ own: CertificateKeeper.Own?, _ bell: ReloadBell?,
        _ clock: ClockGuard, _ logger: Logger
    ) throws -> CertificateKeeper? {
        var files: [CertificateFolder.Server: TLSIdentity] = [:]
        for server in own?.servers ?? [] { files[server] = own?.folder.files(of: server) }
        if let brought = settings.pageIdentity { files[.page] = brought }
        if let brought = settings.brokerIdentity, bell != nil { files[.broker] = brought }
        guard !files.isEmpty else { return nil }
        return try CertificateKeeper(
            own: own, files: files, clientCAFile: settings.pageClientCAFile, bell: bell,
            mayIssue: clock.mayAnswer, logger: logger)
    }

    /// The address and CA of an embedded broker with TLS, for boards. Nil if boards need no more
    /// than their setup.
    static func brokerPlace(_ settings: ServiceSettings, ca: String?) -> ConsumerAccess? {
        guard case .embedded(_, let port) = settings.broker, settings.brokerHasTLS else {
            return nil
        }
        let host = settings.ownHosts?.first.map { $0.contains(":") ? "[\($0)]" : $0 }
        guard let uri = settings.advertise ?? host.map({ "mqtts://\($0):\(port)" }) else {
            return nil
        }
        return ConsumerAccess(uri: uri, ca: settings.brokerIdentity == nil ? ca : nil)
    }
}

extension ServiceSettings {
    /// The servers that use a certificate of the authority's own CA.
    package var ownServers: Set<CertificateFolder.Server> {
        guard ownHosts != nil else { return [] }
        var servers: Set<CertificateFolder.Server> = []
        if pageIdentity == nil { servers.insert(.page) }
        if case .embedded = broker, brokerIdentity == nil { servers.insert(.broker) }
        return servers
    }

    /// Whether there is an embedded broker with TLS.
    var brokerHasTLS: Bool {
        guard case .embedded = broker else { return false }
        return ownHosts != nil || brokerIdentity != nil
    }

    /// Whether browsers may be told to use HTTPS only from now on. Not with the authority's own CA:
    /// a user who has not installed it could then not pass the warning.
    var isStrictlyHTTPS: Bool {
        pageIdentity != nil && rules.info.publicURL.hasPrefix("https://")
    }
}
