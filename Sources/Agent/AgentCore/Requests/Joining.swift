/// How far this process has come with its request to join.
struct Joining: Sendable {
    /// What became of the last join request with the present claim secret.
    enum State: String, Sendable { case notSent, asked, refused }

    /// The least time between two join requests that the broker has acknowledged.
    static let interval = Duration.seconds(60)
    /// How long the board tries as often as ever though its prepared claim is refused.
    private static let patience = Duration.seconds(3600)
    /// How long it does so after a person has asked for its code.
    private static let attention = Duration.seconds(600)

    /// When the broker last acknowledged a request with the present claim secret.
    private var acknowledgedAt: Duration?
    /// Since when the broker has refused the prepared claim's login.
    private var refusedSince: Duration?
    private var wantedAt: Duration?
    /// Whether the next try may use the prepared claim's login. Those tries take turns with the
    /// others, because the board learns of its acceptance only by its own login.
    private var hasTurn: Bool
    private(set) var state = State.notSent
    /// The same for people. Nil: the broker has said nothing.
    private(set) var answer: String?
    /// The claim secrets whose logins the broker has refused after the claim's end. The present
    /// one is 0, the one before it 1.
    private var refusedSecrets: Set<Int> = []

    /// `asksFirst`: no authority can know the claim secret yet.
    init(asksFirst: Bool) { hasTurn = asksFirst }

    /// Whether this try uses the prepared claim's login.
    mutating func takesTurn(at now: Duration) -> Bool {
        let isDue = acknowledgedAt.map { now - $0 >= Self.interval } ?? true
        let takes = hasTurn && isDue
        hasTurn = !takes
        return takes
    }

    mutating func acknowledged(at now: Duration, _ answer: String) {
        acknowledgedAt = now
        refusedSince = nil
        state = .asked
        self.answer = answer
    }

    mutating func refused(_ answer: String, at now: Duration) {
        acknowledgedAt = nil
        refusedSince = refusedSince ?? now
        state = .refused
        self.answer = answer
    }

    mutating func claimRefused(_ secret: Int) { refusedSecrets.insert(secret) }

    /// Whether no claim secret was accepted in time.
    func isClaimRefused(ofSecrets count: Int) -> Bool { refusedSecrets.count >= count }

    /// Records that a person waits for this board.
    mutating func wanted(at now: Duration) {
        refusedSince = refusedSince.map { _ in now }
        wantedAt = now
    }

    /// Whether the broker has refused the prepared claim for an hour, or it has ended.
    func isHopeless(hasEnded: Bool, at now: Duration) -> Bool {
        if let wantedAt, now - wantedAt < Self.attention { return false }
        return hasEnded || refusedSince.map { now - $0 >= Self.patience } ?? false
    }

    /// Records a new claim secret. The authority must receive it.
    mutating func claimMade() {
        acknowledgedAt = nil
        refusedSecrets = []
        state = .notSent
        hasTurn = true
    }
}
