import Sessions
import Wire

/// Makes, lists and ends consumers.
extension Authority {
    package func addConsumer(
        _ order: ConsumerOrder, by caller: Caller
    ) async throws(AuthorityError) -> NewConsumer {
        let access = try consumerAccess()
        let password = SecretBytes(Array(Base64URL.encode(try cryptography.random(32)).utf8))
        let id = try newObjectID()
        let made = try await act(.makeConsumer, by: caller) {
            act throws(AuthorityError) -> (ConsumerRecord, ConsumerTopics) in
            let record = ConsumerRecord(
                id: id, user: act.user.objectID, name: order.name,
                boards: try act.named(order.boards),
                classes: try order.classes.map { classes throws(AuthorityError) in
                    try Self.unique(classes, "classes", atMost: ConsumerLimit.classes)
                },
                createdAt: act.now, until: try Self.end(order.end, from: act.now),
                password: password)
            let topics = try self.topics(of: record, act.transaction)
            try act.insert(record, topics)
            return (record, topics)
        }
        let (record, topics) = made
        do throws(AuthorityError) {
            try await worker.settle(record.reader.line)
        } catch {
            // Nobody has seen its password, so it could never be used.
            try await takeBack(record)
            throw error
        }
        let consumer = view(of: record, topics)
        return NewConsumer(
            consumer: consumer,
            login: BrokerLogin(
                uri: access.uri, clientID: consumer.clientID, username: record.reader.username,
                password: password, ca: access.ca,
                filters: topics.listed(for: record, checksDeliveries: access.checksDeliveries),
                fingerprint: access.fingerprint))
    }

    package func consumers(by caller: Caller) async throws(AuthorityError) -> [Consumer] {
        try await look(.consumers, by: caller) { act throws(AuthorityError) in
            var consumers: [Consumer] = []
            for record in try act.transaction.consumers(of: act.user.objectID) {
                consumers.append(view(of: record, try topics(of: record, act.transaction)))
            }
            return consumers
        }
    }

    package func removeConsumer(
        _ name: ConsumerName, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        let line = try await act(.removeConsumer, by: caller) { act throws(AuthorityError) in
            let own = try act.transaction.consumers(of: act.user.objectID)
            guard let record = own.first(where: { $0.name == name }) else {
                throw .refuse(.notFound, "you have no consumer named \(name)")
            }
            try end(
                record, "consumer.removed", actor: act.user.username, act.transaction, at: act.now)
            return record.reader.line
        }
        return await worker.deliver(line)
    }

    /// Ends the consumers whose time has passed, at most 200 of them. Costs one small query if
    /// there are none.
    package func endDueConsumers() async throws(AuthorityError) {
        let now = clock()
        let isDue = try await store.glance { transaction throws(AuthorityError) in
            try !transaction.consumers(endedBy: now, limit: 1).isEmpty
        }
        guard isDue else { return }
        try await transactAndTell { transaction throws(AuthorityError) in
            for record in try transaction.consumers(endedBy: now, limit: 200) {
                try end(record, "consumer.ended", actor: "authority", transaction, at: now)
            }
        }
    }

    func endConsumers(
        of user: UserID, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        for record in try transaction.consumers(of: user) {
            try end(record, "consumer.ended", actor: actor, transaction, at: now)
        }
    }

    private func end(
        _ record: ConsumerRecord, _ event: String, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard try transaction.deleteConsumer(record.id) else { return }
        try transaction.add(.reader(record.reader, mayDoLess: true))
        try audit(event, actor, nil, nil, record.name.description, transaction, at: now)
    }

    private func takeBack(_ record: ConsumerRecord) async throws(AuthorityError) {
        let now = clock()
        try await transactAndTell { transaction throws(AuthorityError) in
            try end(record, "consumer.removed", actor: "authority", transaction, at: now)
        }
    }

    /// The broker's address for programs; refused if this authority makes no logins.
    func consumerAccess() throws(AuthorityError) -> ConsumerAccess {
        guard let access = worker.consumerAccess else { throw .refused(.noBrokerLogins) }
        return access
    }

    private func view(of record: ConsumerRecord, _ topics: ConsumerTopics) -> Consumer {
        let clientID = BrokerAccount.clientID(of: record.reader.username)
        return Consumer(
            name: record.name, clientID: clientID, boards: record.boards,
            classes: record.classes, createdAt: record.createdAt, until: record.until,
            boardsLeftOut: topics.boardsLeftOut, isConnected: worker.isConnected(clientID))
    }

    fileprivate static func unique<T: Hashable>(
        _ all: [T], _ what: String, atMost limit: Int
    ) throws(AuthorityError) -> [T] {
        var seen: Set<T> = []
        let unique = all.filter { seen.insert($0).inserted }
        guard (1...limit).contains(unique.count) else {
            throw .refuse(
                .validation, "a consumer names 1 to \(limit) \(what); without names it reads all")
        }
        return unique
    }

    private static func end(
        _ end: ConsumerOrder.End?, from now: Timestamp
    ) throws(AuthorityError) -> Timestamp? {
        let until: Timestamp
        switch end {
        case nil: return nil
        case .at(let time): until = time
        case .after(let span): until = now + span
        }
        guard until > now, until <= now + ConsumerLimit.life else {
            throw .refuse(
                .validation, "a consumer ends later than now, and within 10 years from now")
        }
        return until
    }
}

extension Act {
    /// The boards that an order names. All must belong to the caller, also if the caller is an
    /// administrator.
    fileprivate func named(
        _ boards: [InstallationID]?
    ) throws(AuthorityError) -> [InstallationID]? {
        guard let boards else { return nil }
        let named = try Authority.unique(boards, "boards", atMost: ConsumerLimit.boards)
        for id in named {
            guard let board = try transaction.board(id), !board.released,
                board.owner == user.objectID
            else {
                throw .refuse(
                    .notFound, "you have no board \(id); a consumer reads only your own boards")
            }
        }
        return named
    }

    fileprivate func insert(
        _ record: ConsumerRecord, _ topics: ConsumerTopics
    ) throws(AuthorityError) {
        guard topics.boardsLeftOut == 0 else {
            throw .refuse(
                .validation, "a consumer reads at most \(ConsumerLimit.topics) topics, and this "
                    + "one would leave out \(topics.boardsLeftOut) boards; name fewer boards or "
                    + "classes")
        }
        guard try transaction.consumers(of: user.objectID).count < ConsumerLimit.ofUser else {
            throw .refuse(
                .quota, "you have \(ConsumerLimit.ofUser) consumers, which is the limit; remove "
                    + "one first")
        }
        guard try transaction.insert(record) else {
            throw .refuse(
                .validation,
                "you have a consumer named \(record.name) already; remove it first")
        }
        try transaction.add(.reader(record.reader, mayDoLess: false))
        try audit("consumer.added", record.name.description)
    }
}
