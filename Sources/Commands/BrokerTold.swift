import Sessions
import Wire

/// Whether the broker knows of a session's end already. What was decided stands either way.
struct BrokerTold {
    private let isTold: Bool

    /// An answer says it only where the broker could not be told.
    init(_ answer: JSONObject) { isTold = answer.members["brokerTold"] != .bool(false) }

    var json: JSONValue { .bool(isTold) }

    /// What follows the words for what was done.
    var words: String {
        isTold ? "" : """
            ; the broker is not told yet, and will be as soon as it can: until then the board \
            may stay connected
            """
    }
}
