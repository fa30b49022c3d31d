import Cryptography
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// All that the checks of `postern doctor` decide from.
struct DoctorFacts: Examined {
    enum Probe: Hashable, CaseIterable { case reach, authority, login, broker }

    /// An answer of the authority, or why there is none.
    enum Answer: Equatable, Sendable {
        case given(JSONObject)
        case refused(Refusal)
        case failed(String)

        var object: JSONObject? { if case .given(let object) = self { object } else { nil } }
    }

    /// Why the profile, or an address that was named, cannot be used.
    var profileFault: String?
    /// Who is logged in, and where; nil: nobody.
    var username: String?
    var authority: AuthorityURL?
    var applicationID: String?
    var isSafe = true
    var reach: Reach?
    /// What `/info` says, which anybody may ask.
    var info: Answer?
    /// The authority's clock less this machine's, by the answer's header.
    var skew: Duration?
    /// What `/me` says of the session.
    var me: Answer?
    /// The way to the broker that `watch` is sent to.
    var brokerReach: Reach?
    /// Why the authority gave no broker login.
    var brokerFault: String?
    /// The login that `watch` gets, tried; nil: not asked for.
    var brokerLogin: BrokerKnock.Answer?
    var versions = [
        ("postern", PosternCommand.release), ("OpenSSL", LinkedOpenSSL.version),
        ("libmosquitto", Library.version), ("kernel", KernelRelease.current),
    ]
    var now = Timestamp(milliseconds: 0)
}

extension DoctorFacts {
    /// Reads the profile, asks its authority and tries what `probes` names. Changes nothing but
    /// what `watch` would: the authority may make a broker login for this person, and a CA that
    /// the login keeps is put beside it as a file.
    init(
        _ place: Place, _ probes: Set<Probe>, triesLogin: Bool, in surroundings: Surroundings
    ) async {
        now = surroundings.now()
        var token: SessionToken?
        var folder: ProfileFolder?
        var trust = place.trust()
        do throws(CommandFailure) {
            let home = try place.folder(in: surroundings)
            folder = home
            authority = try place.named(in: surroundings)
            if let profile = try home.load(), authority ?? profile.authority == profile.authority {
                authority = profile.authority
                username = profile.username
                applicationID = profile.applicationID
                token = profile.token
                trust = place.trust(profile.trust)
            }
        } catch {
            profileFault = error.sentence
        }
        guard let authority else { return }
        isSafe = authority.isSafe(insecure: place.insecure)
        if probes.contains(.reach) { reach = Self.reach(authority, trust, folder) }
        guard reach?.broken == nil else { return }
        var client = AuthorityClient(
            url: authority, trust: trust, applicationID: applicationID)
        if !probes.isDisjoint(with: [.authority, .login, .broker]) {
            skew = await client.clockSkew(now: surroundings.now)
            info = await Self.answer(client, .get, "/info")
        }
        // A token goes nowhere in clear, and not to whom does not answer as an authority.
        guard let token, isSafe, info?.object != nil else { return }
        client.token = token
        if probes.contains(.login) { me = await Self.answer(client, .get, "/me") }
        if probes.contains(.broker), let folder {
            await look(
                for: client, folder, insecure: place.insecure, triesLogin: triesLogin)
        }
    }

    private static func answer(
        _ client: AuthorityClient, _ method: AuthorityClient.Method, _ path: String
    ) async -> Answer {
        do throws(CommandFailure) {
            return .given(try await client.own(method, path))
        } catch {
            if case .refused(let refusal) = error { return .refused(refusal) }
            return .failed(error.sentence)
        }
    }

    /// OpenSSL reads a CA from a file: one that the login keeps is put beside the login.
    private static func reach(
        _ url: AuthorityURL, _ trust: AuthorityTrust, _ folder: ProfileFolder?
    ) -> Reach {
        var options = TLSOptions()
        options.certificateFile = trust.identity?.certificateFile
        options.keyFile = trust.identity?.keyFile
        switch trust.roots {
        case .system, .none: break
        case .file(let file): options.caFile = file
        case .pinned(let pem):
            let file = (folder?.path ?? "") + "/authority-ca.pem"
            do throws(FileFailure) {
                try PrivateFile.write(file, Array(pem.utf8))
                options.caFile = file
            } catch {
                return Reach(
                    lookup: .skipped("the CA could not be kept"), tcp: .skipped("likewise"),
                    tls: .failed("\(error)"))
            }
        }
        return Reach(
            host: url.host, port: url.port, isLoopback: url.isLoopback,
            tls: url.isEncrypted ? options : nil)
    }

    /// The broker ends the connection of whoever has the same client id, so the login is only
    /// tried where somebody asks for it.
    private mutating func look(
        for client: AuthorityClient, _ folder: ProfileFolder, insecure: Bool, triesLogin: Bool
    ) async {
        do throws(CommandFailure) {
            let access = try BrokerAccess(answer: try await client.own(.post, "/broker"))
            let options = try access.options(folder: folder, insecure: insecure)
            brokerReach = Reach(to: options.uri, options.tls)
            guard triesLogin, brokerReach?.broken == nil else { return }
            brokerLogin = BrokerKnock.knock(options, subscribing: access.filters)
        } catch {
            brokerFault = error.sentence
        }
    }
}
