import Sessions
import Wire

/// Whether the broker knows of a session's end already. What was decided stands either way.
struct BrokerTold {
    private let isTold: Bool

    /// An answer says it only where the broker could not be told.
    init(_ answer: JSONObject) { isTold = answer.members["brokerTold"] != .bool(false) }

    var json: JSONValue { .bool(isTold) }

    /// Says what was done; where JSON is asked for, also as JSON, with the id as `member`.
    func report(
        _ done: String, _ member: String, _ id: String, asJSON: Bool,
        in surroundings: Surroundings
    ) {
        surroundings.step(true, done + words)
        guard asJSON else { return }
        surroundings.emit(.object([member: .string(id), "brokerTold": json]))
    }

    /// What follows the words for what was done.
    var words: String {
        isTold ? "" : """
            ; the broker is not told yet, and will be as soon as it can: until then the board \
            may stay connected
            """
    }
}
