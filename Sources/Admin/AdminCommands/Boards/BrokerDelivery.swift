import Sessions
import Wire

/// Whether the broker has already received a change. The change is valid in any case.
struct BrokerDelivery {
    private let isTold: Bool

    /// The answer has the member only if the broker could not be told.
    init(_ answer: JSONObject) { isTold = answer.members["brokerTold"] != .bool(false) }

    var json: JSONValue { .bool(isTold) }

    /// Prints what was done. With `asJSON` it also prints JSON, with the id as `member`.
    func report(
        _ done: String, _ member: String, _ id: String, asJSON: Bool,
        in surroundings: CommandEnvironment
    ) {
        surroundings.step(true, done + words)
        guard asJSON else { return }
        surroundings.emit(.object([member: .string(id), "brokerTold": json]))
    }

    /// The end of the sentence that says what was done.
    var words: String {
        isTold ? "" : """
            ; it is recorded, but not yet delivered: the broker does not answer, so the board may \
            stay connected; the authority tells the broker as soon as it can
            """
    }
}
