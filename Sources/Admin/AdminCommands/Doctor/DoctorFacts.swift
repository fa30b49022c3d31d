import Cryptography
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// All facts that the checks of `postern doctor` use.
struct DoctorFacts: Examined {
    enum Probe: Hashable, CaseIterable { case reach, authority, login, broker }

    /// An answer of the authority, or why there is none.
    enum Answer: Equatable, Sendable {
        case given(JSONObject)
        case refused(Refusal)
        case failed(String)

        var object: JSONObject? { if case .given(let object) = self { object } else { nil } }
    }

    /// Why the profile, or a given address, cannot be used.
    var profileFault: String?
    /// The user that is logged in; nil if nobody is.
    var username: String?
    var authority: AuthorityURL?
    var applicationID: String?
    var isSafe = true
    var reach: Reach?
    /// The answer to `/info`, which needs no login.
    var info: Answer?
    /// The authority's clock minus this machine's, by the header of the answer.
    var skew: Duration?
    /// The answer to `/me`, about the session.
    var me: Answer?
    /// How far the connection to the broker of `watch` gets.
    var brokerReach: Reach?
    /// Why the authority gave no broker login.
    var brokerFault: String?
    /// The result of a login like that of `watch`; nil if it was not asked for.
    var brokerLogin: BrokerLoginTest.Answer?
    var versions = [
        ("postern", PosternCommand.release), ("OpenSSL", LinkedOpenSSL.version),
        ("libmosquitto", Library.version), ("kernel", KernelRelease.current),
    ]
    var now = Timestamp(milliseconds: 0)
}

extension DoctorFacts {
    /// Reads the profile, asks its authority and tries the parts in `probes`. It changes no more
    /// than `watch`: the authority may make a broker login for this user. A CA of the login is also
    /// written to a file.
    init(
        _ place: Place, _ probes: Set<Probe>, triesLogin: Bool, in surroundings: CommandEnvironment
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
        // Send no token in clear, and none to a server that does not answer as an authority.
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

    /// Tries the connection. OpenSSL reads a CA from a file, so the login's CA is written beside
    /// it.
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
                    lookup: .skipped("the CA could not be stored"), tcp: .skipped("likewise"),
                    tls: .failed("\(error)"))
            }
        }
        return Reach(
            host: url.host, port: url.port, isLoopback: url.isLoopback,
            tls: url.isEncrypted ? options : nil)
    }

    /// Checks the way to the broker. The broker closes another connection with the same client id,
    /// so the login is tried only on request.
    private mutating func look(
        for client: AuthorityClient, _ folder: ProfileFolder, insecure: Bool, triesLogin: Bool
    ) async {
        do throws(CommandFailure) {
            let access = try ConsumerLogin(answer: try await client.own(.post, "/broker"))
            let options = try access.options(folder: folder, insecure: insecure)
            brokerReach = Reach(to: options.uri, options.tls)
            guard triesLogin, brokerReach?.broken == nil else { return }
            brokerLogin = BrokerLoginTest.knock(options, subscribing: access.filters)
        } catch {
            brokerFault = error.sentence
        }
    }
}
