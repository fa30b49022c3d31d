/// One line of the standard input: what to do, and with what.
struct Order: Decodable {
    let id: Int
    let act: String
    // For `open`.
    var authority: String?
    var store: String?
    var heartbeat: Double?
    var renewalMargin: Double?
    /// `held` or `stuck`: a ``TroubledStorage``.
    var trouble: String?
    // For `login`, and for the proof of a renewal.
    var username: String?
    var password: String?
    var provider: String?
    var token: String?
    // For all others.
    var session: String?
    var board: String?
    var url: String?
    var claim: String?
    var seconds: Double?
    var shorten: Bool?
    var classes: [String]?
}
