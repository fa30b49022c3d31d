import Gate
import Sessions
import Wire

/// The topics that a consumer may read now.
struct ConsumerTopics: Sendable {
    private(set) var filters: [String] = []
    /// Boards without topics, because the consumer would have more than `ConsumerLimit.topics`.
    private(set) var boardsLeftOut = 0
    private let root: TopicRoot
    private let classes: [ClassName]?

    fileprivate init(_ record: ConsumerRecord, under root: TopicRoot) {
        self.root = root
        classes = record.classes
    }

    fileprivate mutating func add(_ board: InstallationID) {
        let new = Self.filters("\(board)", classes, root)
        guard filters.count + new.count <= ConsumerLimit.topics else {
            boardsLeftOut += 1
            return
        }
        filters += new
    }

    /// Filters for any board. A broker may accept them only if it checks each message that it
    /// delivers.
    static func wide(_ record: ConsumerRecord, under root: TopicRoot) -> [String] {
        record.boards == nil ? filters("+", record.classes, root) : []
    }

    private static func filters(
        _ board: String, _ classes: [ClassName]?, _ root: TopicRoot
    ) -> [String] {
        let own = "\(root)/\(board)"
        return (classes?.map { "\(own)/data/\($0)/#" } ?? ["\(own)/data/#"]) + ["\(own)/status"]
    }
}

extension Authority {
    /// The boards that belong to the consumer's user at this moment, and no others. That also holds
    /// for an administrator.
    func topics(
        of record: ConsumerRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> ConsumerTopics {
        var topics = ConsumerTopics(record, under: info.topicRoot)
        guard let named = record.boards else {
            try eachBoard(of: record.user, transaction) { topics.add($0.installation) }
            return topics
        }
        for id in named {
            guard let board = try transaction.board(id), !board.released,
                board.owner == record.user
            else { continue }
            topics.add(id)
        }
        return topics
    }

    /// Nil if the consumer has ended, or if its user is disabled.
    func desiredState(
        ofConsumer id: ObjectID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> DesiredReader? {
        guard let record = try transaction.consumer(id), !record.hasEnded(at: now),
            try transaction.user(record.user)?.isEnabled == true
        else { return nil }
        return DesiredReader(
            username: record.reader.username, password: record.password,
            filters: try topics(of: record, transaction).filters,
            wide: ConsumerTopics.wide(record, under: info.topicRoot))
    }
}
