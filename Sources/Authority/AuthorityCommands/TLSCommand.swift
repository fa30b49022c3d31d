import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import ConfigurationFiles
import Cryptography
import LinuxIO
import Sessions
import Wire

/// Shows and renews the authority's own certificates. It works beside `serve`, which uses new ones
/// within seconds.
struct TLSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tls", abstract: "Shows and renews the authority's own certificates.",
        subcommands: [Show.self, Renew.self])

    @ParentCommand var program: AuthorityProgram

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the CA's fingerprint and the last valid day of each certificate.")

        @ParentCommand var tls: TLSCommand
        @OptionGroup var place: PlaceOptions
        @Flag(help: "As JSON.") var json = false

        func run() async throws {
            let settings = try place.settings(tls.program.place)
            try await AuthorityCommands.run {
                let state = StateFolder(settings)
                try state.enter()
                try CertificateSummary(settings, state.certificates).show(json: json)
            }
        }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes new certificates now, and the CA if there is none.",
            discussion: "`serve` does this by itself when less than 30 of 90 days are left.")

        @ParentCommand var tls: TLSCommand
        @OptionGroup var place: PlaceOptions
        @Flag(help: "As JSON, in the form of `show`.") var json = false

        func run() async throws {
            let settings = try place.settings(tls.program.place)
            try await AuthorityCommands.run {
                try await LocalAuthority(settings).requireCredibleClock()
                let state = StateFolder(settings)
                try state.makeCertificates(settings, anew: true, at: systemClock())
                say("✓ new certificates")
                try CertificateSummary(settings, state.certificates).show(json: json)
            }
        }
    }
}

extension StateFolder {
    /// Makes the CA if there is none, and each certificate that is missing or due; with `anew` all
    /// certificates.
    func makeCertificates(
        _ settings: ServiceSettings, anew: Bool, at now: Timestamp
    ) throws {
        guard let configured = settings.ownHosts else {
            say("[tls] own is not true in authority.toml, so there is no certificate to make")
            throw Exit.configuration
        }
        let master = try MasterKey(at: masterKey)
        try certificates.found(name: settings.rules.info.name, wrapping: master, at: now)
        let own = CertificateKeeper.Own(
            folder: certificates, authority: try certificates.authority(wrapping: master),
            hosts: try CertificateFolder.hosts(configured), servers: settings.ownServers)
        for server in own.servers {
            if anew {
                try certificates.issue(server, by: own.authority, for: own.hosts, at: now)
            } else {
                _ = try CertificateKeeper.renew(server, own, at: now, mayIssue: true)
            }
        }
    }
}

/// The output of `tls show`.
private struct CertificateSummary {
    let folder: CertificateFolder
    let authority: Certificate
    /// The servers that use the authority's own certificates. `end` is nil if there is none yet.
    var servers: [(server: CertificateFolder.Server, end: Timestamp?)] = []

    init(_ settings: ServiceSettings, _ folder: CertificateFolder) throws {
        self.folder = folder
        authority = try folder.certificate()
        for server in settings.ownServers.sorted(by: { $0.rawValue < $1.rawValue }) {
            let read = try? ServerCertificate.read(folder.files(of: server))
            servers.append((server, read?.chain.first?.notAfter))
        }
    }

    func show(json: Bool) throws {
        let fingerprint = authority.fingerprint.map(\.description) ?? ""
        guard json else {
            print("CA \(folder.authorityFile)")
            print(fingerprint)
            for (server, end) in servers {
                print("\(server.rawValue) \(end.map { "until \($0.words)" } ?? "none yet")")
            }
            return
        }
        var members: [String: JSONValue] = [
            "caFile": .string(folder.authorityFile), "fingerprint": .string(fingerprint),
            "expiresAt": .time(authority.notAfter),
        ]
        members["certificates"] = .array(servers.map { server, end in
            .object([
                "server": .string(server.rawValue), "expiresAt": end.map(JSONValue.time) ?? .null,
            ])
        })
        print(JSONValue.object(members).text)
    }
}

extension Timestamp {
    /// The date in UTC.
    fileprivate var words: String {
        String(ParseDate.print(self).prefix(10))
    }
}
