import Cryptography
import MQTT
import Sessions
import Wire

/// A board without hardware: the contract's board with its keys and tokens in memory.
///
/// It has one request on its way at most, and repeats it under the same id until it is
/// answered, so that a lost reply never looks like theft.
///
/// Source: the wire contract, Requests and replies, and Refresh and rotation.
struct SimulatedBoard {
    enum Request: Sendable {
        case heartbeat
        case refresh
    }

    /// A request that was not answered yet. Times are of the monotonic clock.
    struct Pending {
        let request: Request
        let id: MessageID
        let since: Duration
        var repeatAt: Duration
    }

    /// What came of a message on the inbox.
    enum Outcome {
        case ignored
        /// It has its session; `reply` is to be published, and then a first heartbeat.
        case provisioned(reply: [UInt8])
        case answered(Request, after: Duration)
        /// Its session was revoked; `reply` is to be published.
        case over(reply: [UInt8])
    }

    let installation: InstallationID
    let inbox: String
    let outbox: String
    private let key: X25519PrivateKey
    private let secret: SecretBytes
    /// What its provisioning brought.
    var life: Life?
    private(set) var pending: Pending?

    struct Life {
        let session: ObjectID
        let sessionToken: SessionToken
        var refreshToken: RefreshToken
        var accessToken: AccessToken
        let heartbeat: Duration
        let sealKey: KeyID
        let authority: HPKE.Correspondence
        /// Takes the derived one's place.
        let brokerPassword: SecretBytes?
    }

    /// How long an answer is waited for before the request is repeated.
    static let patience = Duration.seconds(10)
    /// How far `now` may be from this machine's clock.
    static let clockTolerance = Duration.seconds(300)

    /// A new one, with an identity that nobody has seen.
    init(under root: TopicRoot) throws(SimulationFault) {
        do throws(CryptographyError) {
            installation = InstallationID(random: try RandomBytes.make(16))
            key = try X25519PrivateKey()
            secret = try RandomBytes.secret(32)
        } catch {
            throw .seal
        }
        inbox = ContractTopic.inbox(installation).text(under: root)
        outbox = ContractTopic.outbox(installation).text(under: root)
    }

    /// Whether it holds a session that it knows to live.
    var isAlive: Bool { life != nil }

    /// What it shows to be claimed. It holds the claim secret.
    var claimURL: String {
        ClaimURL(
            base: ClaimURL.defaultBase, installation: installation,
            deviceKey: key.publicKey.rawRepresentation, secret: secret, name: "simulated"
        ).reveal()
    }

    /// The login that the authority made for it, with the password of its provisioning once it
    /// has one; `byClaim`: with the one that the claim secret gives all the same.
    func login(
        at uri: BrokerURI, tls: TLSOptions, byClaim: Bool = false
    ) throws(SimulationFault) -> ConnectOptions {
        let password = if !byClaim, let own = life?.brokerPassword {
            own
        } else {
            SecretBytes(Array(Base64URL.encode(
                try derived("postern/v1 broker").reveal()).utf8))
        }
        return ConnectOptions(
            uri: uri, clientID: "postern-\(installation)", username: installation.description,
            password: password, tls: tls)
    }

    /// What was on its way is to be repeated at once: the connection was another.
    mutating func hurry() { pending?.repeatAt = .zero }

    private func derived(_ info: String) throws(SimulationFault) -> SecretBytes {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: secret, salt: Array(installation.description.utf8),
                info: Array(info.utf8), count: 32)
        } catch {
            throw .seal
        }
    }
}

// What it says.
extension SimulatedBoard {
    /// Begins a request; its sealed payload. Nil where there is no session to ask under.
    mutating func ask(
        _ request: Request, at now: Duration, wall: Timestamp
    ) throws(SimulationFault) -> [UInt8]? {
        guard life != nil else { return nil }
        let id = try Self.newID()
        pending = Pending(
            request: request, id: id, since: now, repeatAt: now + Self.patience)
        return try payload(of: request, id: id, wall: wall)
    }

    /// The request once more, under its id, where its time has come.
    mutating func askAgain(
        at now: Duration, wall: Timestamp
    ) throws(SimulationFault) -> [UInt8]? {
        guard var again = pending, again.repeatAt <= now else { return nil }
        again.repeatAt = now + Self.patience
        pending = again
        return try payload(of: again.request, id: again.id, wall: wall)
    }

    func payload(
        of request: Request, id: MessageID, wall: Timestamp
    ) throws(SimulationFault) -> [UInt8]? {
        guard let life else { return nil }
        let body: BoardMessage.Body = switch request {
        case .heartbeat: .authenticate(life.sessionToken, durationMinutes: nil)
        case .refresh: .refresh(life.refreshToken)
        }
        return try seal(
            BoardMessage(id: id, issuedAt: wall, clockUnset: false, body: body), life)
    }

    func seal(
        _ message: BoardMessage, _ life: Life
    ) throws(SimulationFault) -> [UInt8] {
        do throws(CryptographyError) {
            let sealed = try life.authority.seal(
                message.plaintext, info: SealedEnvelope.info, aad: Array(outbox.utf8))
            return SealedEnvelope(
                mode: .auth, to: life.sealKey, enc: sealed.enc, ct: sealed.ct).payload
        } catch {
            throw .seal
        }
    }

    static func newID() throws(SimulationFault) -> MessageID {
        do throws(CryptographyError) {
            return MessageID(random: try RandomBytes.make(16))
        } catch {
            throw .seal
        }
    }
}

// What it hears.
extension SimulatedBoard {
    /// Takes one payload of its inbox. What throws has ended the request that it answers.
    mutating func take(
        _ payload: [UInt8], at now: Duration, wall: Timestamp
    ) throws(SimulationFault) -> Outcome {
        guard !payload.isEmpty else { return .ignored }
        let message = try open(payload)
        switch message.body {
        case .provision(let provision):
            guard life == nil else { return .ignored }
            return .provisioned(reply: try begin(provision, message.id, wall: wall))
        case .reply(let reply):
            return try judge(reply, at: now, wall: wall)
        case .revoked(_, let session, _):
            guard let life, life.session == session else { return .ignored }
            let ended = BoardMessage(
                id: try Self.newID(), issuedAt: wall, clockUnset: false,
                body: .sessionEnded(re: message.id, session: session))
            let reply = try seal(ended, life)
            (self.life, pending) = (nil, nil)
            return .over(reply: reply)
        case .updated, .unknown:
            return .ignored
        }
    }

    func open(_ payload: [UInt8]) throws(SimulationFault) -> AuthorityMessage {
        do {
            let envelope = try SealedEnvelope(parsing: payload)
            let sealed = HPKE.Sealed(enc: envelope.enc, ct: envelope.ct)
            let plaintext: [UInt8]
            switch (envelope.mode, life) {
            case (.psk, _):
                let psk = HPKE.PreSharedKey(
                    key: try derived("postern/v1 claim"),
                    id: Array(installation.description.utf8))
                plaintext = try HPKE.openPSK(
                    sealed, with: key, info: SealedEnvelope.info, aad: Array(inbox.utf8),
                    psk: psk)
            case (.auth, let life?):
                plaintext = try life.authority.open(
                    sealed, info: SealedEnvelope.info, aad: Array(inbox.utf8))
            case (.auth, nil):
                throw SimulationFault.seal
            }
            return try AuthorityMessage(parsing: plaintext)
        } catch is WireError {
            throw .contract("a message that is not as agreed")
        } catch {
            throw .seal
        }
    }

    mutating func begin(
        _ provision: Provision, _ id: MessageID, wall: Timestamp
    ) throws(SimulationFault) -> [UInt8] {
        let life: Life
        do throws(CryptographyError) {
            let peer = try X25519PublicKey(rawRepresentation: provision.authority.sealKey)
            life = Life(
                session: provision.session.objectID, sessionToken: provision.tokens.session,
                refreshToken: provision.tokens.refresh,
                accessToken: provision.tokens.access, heartbeat: provision.heartbeat,
                sealKey: peer.keyID,
                authority: try HPKE.Correspondence(own: key, peer: peer),
                brokerPassword: provision.broker?.password)
        } catch {
            throw .seal
        }
        self.life = life
        return try seal(
            BoardMessage(
                id: try Self.newID(), issuedAt: wall, clockUnset: false,
                body: .provisionAccepted(re: id, session: life.session)), life)
    }

    /// Holds an answer against what was asked, and takes the new refresh token over.
    private mutating func judge(
        _ reply: Reply, at now: Duration, wall: Timestamp
    ) throws(SimulationFault) -> Outcome {
        // A request that was repeated may be answered twice.
        guard let pending, pending.id == reply.re else { return .ignored }
        self.pending = nil
        let skew = reply.now - wall
        let isOff = skew > Self.clockTolerance || .zero - skew > Self.clockTolerance
        guard !isOff else {
            throw .contract("`now` is not the time")
        }
        switch reply.outcome {
        case .error(let refusal):
            if refusal.code == ErrorCode.invalidSession.rawValue { life = nil }
            throw .refused(refusal.code)
        case .result(let result):
            guard result.session?.objectID == life?.session else {
                throw .contract("an answer for another session")
            }
            if pending.request == .refresh { try rotate(result) }
            return .answered(pending.request, after: now - pending.since)
        }
    }

    mutating func rotate(_ result: Reply.Result) throws(SimulationFault) {
        guard let next = result.refreshToken, let access = result.accessToken,
            let spent = life?.refreshToken, !next.secret.matches(spent.secret)
        else { throw .contract("a refresh without new tokens") }
        life?.refreshToken = next
        life?.accessToken = access
    }
}
