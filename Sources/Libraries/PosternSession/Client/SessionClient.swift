public import Foundation

/// A person's session at an authority: logs in, keeps it, and tells when it comes and goes.
///
/// Make one for each authority, call ``restore()`` at launch, and follow ``sessionChanges``. All
/// requests go through this actor. If the authority answers one with 209, the session is over: the
/// storage is cleared and ``sessionChanges`` says so, whichever call it was.
public actor SessionClient {
    /// How a client behaves. The defaults suit a phone.
    public struct Options: Sendable {
        /// The application's id; nil: the authority's own.
        public var applicationID: String?
        /// The client key, where the authority has a `rest_api_key`. It is no secret.
        public var clientKey: String?
        /// How often the client asks whether the session lives, give or take a tenth.
        public var heartbeat: Duration = .seconds(180)
        /// How long a request may wait for the network.
        public var patience: Duration = .seconds(30)
        /// How a session is renewed without a person; nil: it is not.
        public var renewal: SessionRenewal?

        public init() {}
    }

    let address: AuthorityAddress
    let options: Options
    let transport = HTTPTransport()
    let storage: any SessionStorage
    /// The session; nil without one.
    var held: StoredSession?
    /// Counts sessions that came or went. Work that began under another number is out of date.
    var generation = 0
    var renewal = RenewalState()
    private var heart: Task<Void, Never>?
    private let changes = AvailabilityChanges()

    /// `authority` is an `https` address. `http` works to this machine only.
    public init(
        authority: URL, storage: any SessionStorage, options: Options = Options()
    ) throws(SessionError) {
        address = try AuthorityAddress(
            authority, applicationID: options.applicationID, clientKey: options.clientKey)
        self.storage = storage
        self.options = options
    }

    deinit { heart?.cancel() }

    /// The logged-in user; nil without a session.
    public var user: AccountUser? { held?.user }

    /// Whether there is a session now. Before ``restore()`` it is `loggedOut`.
    public nonisolated var availability: SessionAvailability { changes.current }

    /// Begins with ``availability`` as it is, and then has each change. Each call has its own. A
    /// validation alone is no change, except the first after a launch or an absence. It ends when
    /// the client is freed.
    public nonisolated var sessionChanges: AsyncStream<SessionAvailability> { changes.stream }

    func set(_ next: SessionAvailability, isConfirmed: Bool = true) {
        changes.set(next, isConfirmed: isConfirmed)
    }

    /// Lets the heart beat while there is a session: now, or after the first interval.
    func beat(now: Bool = false) {
        heart?.cancel()
        heart = nil
        guard held != nil else { return }
        heart = Task { [weak self, interval = options.heartbeat] in
            var wait = interval
            if now {
                guard let next = await self?.nextBeat(after: wait) else { return }
                wait = next
            }
            while !Task.isCancelled {
                try? await Task.sleep(for: wait * Double.random(in: 0.9...1.1))
                if Task.isCancelled { return }
                guard let next = await self?.nextBeat(after: wait) else { return }
                wait = next
            }
        }
    }
}
