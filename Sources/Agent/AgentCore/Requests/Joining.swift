/// How far this process has come with its request to join.
struct Joining: Sendable {
    /// The least time between two join requests that the broker has acknowledged.
    static let interval = Duration.seconds(60)

    /// When the broker last acknowledged a request with the present claim secret.
    private var acknowledgedAt: Duration?
    /// Whether the next try may use the prepared claim's login. Those tries take turns with the
    /// others, because the board learns of its acceptance only by its own login.
    private var hasTurn: Bool
    /// What became of the last join request, for people. Nil: the broker has said nothing.
    private(set) var answer: String?
    /// Whether the broker has refused the login of the present claim secret.
    private(set) var isClaimRefused = false

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
        self.answer = answer
    }

    mutating func refused(_ answer: String) {
        acknowledgedAt = nil
        self.answer = answer
    }

    mutating func claimRefused() { isClaimRefused = true }

    /// Records a new claim secret. The authority must receive it.
    mutating func claimMade() {
        acknowledgedAt = nil
        isClaimRefused = false
        hasTurn = true
    }
}
