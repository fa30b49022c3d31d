import AgentCore

/// The bytes published on the bus that have no PUBACK yet: in total, and for each app.
///
/// The bound keeps a broker that takes nothing from filling the board's memory. An app may use a
/// quarter of it, so an app that sends many requests leaves room for the answers to others.
struct AnswerLimit {
    static let limit = 1 << 20
    static let appLimit = limit / 4

    private struct Waiting {
        let app: Substring
        let size: Int
    }

    private var waiting: [Int32: Waiting] = [:]
    private var bytes = 0
    private var bytesOfApp: [Substring: Int] = [:]

    /// Whether there is room for an answer. Within the total, an app's only waiting answer may
    /// have any size.
    func hasRoom(for answer: BusPublication) -> Bool {
        let size = Self.size(of: answer)
        let own = bytesOfApp[Self.app(of: answer)] ?? 0
        return bytes + size <= Self.limit && (own == 0 || own + size <= Self.appLimit)
    }

    mutating func add(_ publication: BusPublication, as packetID: Int32) {
        let entry = Waiting(app: Self.app(of: publication), size: Self.size(of: publication))
        settle(packetID)
        waiting[packetID] = entry
        bytes += entry.size
        bytesOfApp[entry.app, default: 0] += entry.size
    }

    /// Removes a publication that the broker has acknowledged.
    mutating func settle(_ packetID: Int32) {
        guard let entry = waiting.removeValue(forKey: packetID) else { return }
        bytes -= entry.size
        let rest = (bytesOfApp[entry.app] ?? 0) - entry.size
        bytesOfApp[entry.app] = rest > 0 ? rest : nil
    }

    private static func size(of publication: BusPublication) -> Int {
        publication.topic.utf8.count + publication.payload.count
            + (publication.correlation?.count ?? 0)
    }

    /// The third level of `postern/app/<app>/…`; empty for publications to all apps.
    private static func app(of publication: BusPublication) -> Substring {
        let levels = publication.topic.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return levels.count == 4 ? levels[2] : ""
    }
}
