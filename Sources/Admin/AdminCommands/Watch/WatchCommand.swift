import ArgumentParser
import Gate
import MQTT
import Sessions
import Wire

/// `postern watch`: shows the data of the user's boards as it arrives.
struct WatchCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show your boards' data as it arrives.",
        discussion: """
            Ends with ^C, after --count messages, or after the span of --for. With --check it \
            does not show data. It shows which numbers are missing, contradicted, out of order or \
            repeated, and at the end a line for each board. A number is missing if a later one \
            has arrived, 5 seconds have passed, and the board has not announced it as lost. The \
            line also shows the lag: from the board's `ts` to the arrival, by this machine's \
            clock. A negative lag means that the clocks differ. Exit \
            status with --check: 0 complete (repeats are no fault: QoS 1 may deliver twice), \
            1 not complete, 3 it could not be checked.
            """)

    @OptionGroup var place: Place
    @Option(help: ArgumentHelp("Only data of this board.", valueName: "board"),
            completion: .boards)
    var board: String?
    @Option(help: ArgumentHelp("End after this number of messages.", valueName: "n"))
    var count: Int?
    @Option(name: .customLong("for"), help: ArgumentHelp(
        "End after this span, such as 10s.", valueName: "span"))
    var span: Span?

    @Flag(help: "Check that each board's messages arrive complete and in order.")
    var check = false

    func validate() throws {
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is above 0") }
    }

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let client = try place.login(in: surroundings).client
        let info = try await client.own(.get, "/info")
        let root = try decoding { () throws(WireError) in
            try info.parsed("topicRoot", TopicRoot.init)
        }
        let access = try ConsumerLogin(answer: try await client.own(.post, "/broker"))
        var installation: InstallationID?
        if let board { installation = try await client.board(named: board).id }
        let filters = try filters(access, root, installation)
        let folder = try place.folder(in: surroundings)
        let options = try access.options(
            folder: folder, insecure: place.insecure, showing: client.trust.identity)
        let broker: BrokerClient
        do throws(MQTTError) {
            broker = try await BrokerClient.connect(options)
        } catch {
            throw CommandFailure(error)
        }
        do throws(CommandFailure) {
            try await subscribe(broker, filters)
            // Start the signal handler before the message: the user may then press ^C at once and
            // gets the summary.
            let stop = check ? StopSignal() : nil
            surroundings.step(true, "watching \(access.uri)")
            if let stop {
                try await self.check(broker, root, surroundings, until: stop)
            } else {
                try await show(broker, root, surroundings)
            }
        } catch {
            await broker.close()
            throw error
        }
        await broker.close()
        if !check { try judge(broker) }
    }

    private func check(
        _ broker: BrokerClient, _ root: TopicRoot, _ surroundings: CommandEnvironment,
        until stop: StopSignal
    ) async throws(CommandFailure) {
        guard broker.ack.version == .v5 else {
            throw .degraded("the broker supports only MQTT 3.1.1: without sid and seq there is "
                + "nothing to check")
        }
        let check = WatchCheck(broker, root, surroundings, json: place.json)
        try await check.run(count: count, span: span, until: stop)
    }

    /// Throws if messages or properties were missing although nothing failed.
    private func judge(_ broker: BrokerClient) throws(CommandFailure) {
        if broker.droppedMessages > 0 {
            throw .degraded("\(broker.droppedMessages) messages arrived faster than they were "
                + "shown, and were dropped")
        }
        if broker.ack.version == .v311 {
            throw .degraded("the broker supports only MQTT 3.1.1, so app, sid and seq are missing")
        }
    }

    /// The topic filters to subscribe. With `--check` also the status topics, where boards announce
    /// lost messages.
    private func filters(
        _ access: ConsumerLogin, _ root: TopicRoot, _ board: InstallationID?
    ) throws(CommandFailure) -> [String] {
        let data = try dataFilters(access, root, board)
        guard check else { return data }
        let suffix = "/data/#"
        return data.map { $0.dropLast(suffix.count) + "/status" } + data
    }

    /// With `--board`, only that board's data. Throws if the board belongs to another user.
    private func dataFilters(
        _ access: ConsumerLogin, _ root: TopicRoot, _ board: InstallationID?
    ) throws(CommandFailure) -> [String] {
        guard let board else {
            let data = access.filters.filter { $0.hasSuffix("/data/#") }
            guard !data.isEmpty else { throw .usage("nothing to do: you have no boards") }
            return data
        }
        let wanted = "\(root)/\(board)/data/#"
        let permitted = [wanted, "\(root)/+/data/#"].contains { access.filters.contains($0) }
        guard permitted else { throw .refused(Refusal(.forbidden, "this board is not yours")) }
        return [wanted]
    }

    private func subscribe(
        _ broker: BrokerClient, _ filters: [String]
    ) async throws(CommandFailure) {
        let codes: [UInt8]
        do throws(MQTTError) {
            codes = try await broker.subscribe(filters.map { Subscription($0) })
        } catch {
            throw CommandFailure(error)
        }
        guard codes.allSatisfy({ $0 < 0x80 }) else {
            throw .failed(layer: "broker login", text: "the broker refuses the subscription")
        }
    }

    /// Returns when the count or the span is reached. Throws when the broker is lost.
    private func show(
        _ broker: BrokerClient, _ root: TopicRoot, _ surroundings: CommandEnvironment
    ) async throws(CommandFailure) {
        let timer = span.map { span in
            Task {
                try await Task.sleep(for: span.duration)
                await broker.close()
            }
        }
        defer { timer?.cancel() }
        var shown = 0
        for await event in broker.events {
            switch event {
            case .message(let message):
                guard let data = DataMessage(message, under: root) else { continue }
                let line = DataLine(data, at: surroundings.now())
                surroundings.out(place.json ? line.json.text : line.text(surroundings.times))
                shown += 1
                if let count, shown >= count { return }
            case .batch: break
            case .disconnected(let error):
                // The broker client also reports this after the span has ended and closed the
                // connection.
                if span != nil, error == .notConnected { return }
                throw CommandFailure(error)
            }
        }
    }
}
