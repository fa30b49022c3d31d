import Gate
import Sessions
import Wire

/// The topics that a consumer may read now.
struct ConsumerTopics: Sendable {
    /// Data and status.
    private(set) var filters: [String] = []
    /// The boards' discovery messages for Home Assistant. A consumer of some classes gets none,
    /// because the messages of all classes have one topic. The limit does not count these: no
    /// board is left out because of them.
    private(set) var discoveryFilters: [String] = []
    /// Boards without topics, because the consumer would have more than `ConsumerLimit.topics`.
    private(set) var boardsLeftOut = 0
    private let root: TopicRoot
    private let classes: [ClassName]?
    /// See `DesiredReader.discovery`.
    let discovery: TopicRoot?

    fileprivate init(_ record: ConsumerRecord, under root: TopicRoot, discovery: TopicRoot?) {
        self.root = root
        classes = record.classes
        self.discovery = record.classes == nil ? discovery : nil
    }

    fileprivate mutating func add(_ board: InstallationID) {
        let new = Self.filters("\(board)", classes, root)
        guard filters.count + new.count <= ConsumerLimit.topics else {
            boardsLeftOut += 1
            return
        }
        filters += new
        if let discovery {
            discoveryFilters.append(BoardSensor.topics(of: board, below: discovery))
        }
    }

    var all: [String] { filters + discoveryFilters }

    /// What a program should subscribe to. If the broker does not check its deliveries, Home
    /// Assistant's own filters are refused, so the discovery messages are not listed.
    func listed(for record: ConsumerRecord, checksDeliveries: Bool) -> [String] {
        guard checksDeliveries else { return filters }
        guard record.boards == nil else { return all }
        return Self.wide(record, under: root)
            + (discovery.map { [BoardSensor.topics(of: nil, below: $0)] } ?? [])
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
        var topics = ConsumerTopics(record, under: info.topicRoot, discovery: rules.discovery)
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
        let topics = try topics(of: record, transaction)
        return DesiredReader(
            username: record.reader.username, password: record.password, filters: topics.all,
            wide: ConsumerTopics.wide(record, under: info.topicRoot), discovery: topics.discovery)
    }
}
