import LinuxIO
import MQTT
import Sessions
import Synchronization
import Wire

/// `postern watch --check`: reads messages, prints findings, and prints a summary at the end.
final class WatchCheck: Sendable {
    private struct State {
        var check = SequenceCheck()
        var messages = 0
        var isEnding = false
    }

    private let state = Mutex(State())
    private let broker: BrokerClient
    private let root: TopicRoot
    private let surroundings: CommandEnvironment
    private let isJSON: Bool

    init(
        _ broker: BrokerClient, _ root: TopicRoot, _ surroundings: CommandEnvironment, json: Bool
    ) {
        self.broker = broker
        self.root = root
        self.surroundings = surroundings
        isJSON = json
    }

    /// Returns after `count` messages, after the span, or on ^C. Throws if something was wrong or
    /// could not be checked. The summary is printed in any case.
    func run(count: Int?, span: Span?, until stop: StopSignal) async throws(CommandFailure) {
        let helpers = [
            Task { try await self.keepTime() },
            Task { try await self.end(after: stop) },
            Task { try await self.end(after: span) },
        ]
        var failure: CommandFailure?
        do throws(CommandFailure) {
            try await read(atMost: count)
        } catch {
            failure = error
        }
        for helper in helpers { helper.cancel() }
        let (found, summaries, unchecked) = state.withLock { state in
            (state.check.end(), state.check.summaries, state.check.uncheckedMessages)
        }
        show(found)
        for summary in summaries {
            surroundings.out(isJSON ? summary.json.text : summary.text)
        }
        if let failure { throw failure }
        try judge(summaries, unchecked)
    }

    private func read(atMost count: Int?) async throws(CommandFailure) {
        for await event in broker.events {
            switch event {
            case .message(let message):
                let (found, total) = take(message)
                show(found)
                if let count, total >= count { return }
            case .batch: break
            case .disconnected(let error):
                // The broker client also reports this when this side closed the connection.
                if error == .notConnected, state.withLock({ $0.isEnding }) { return }
                throw CommandFailure(error)
            }
        }
    }

    private func take(_ message: IncomingMessage) -> (found: [SequenceFinding], total: Int) {
        let now = SystemClock.monotonic
        if let data = DataMessage(message, under: root) {
            let arrival = ArrivedMessage(data, at: surroundings.now())
            return state.withLock { state in
                state.messages += 1
                return (state.check.take(arrival, at: now), state.messages)
            }
        }
        if case .status(let board)? = ContractTopic(message.topic, under: root),
            let status = try? BoardStatus(parsing: message.payload)
        {
            state.withLock { $0.check.announce(status.gaps.ranges, by: board) }
        }
        return ([], state.withLock { $0.messages })
    }

    private func show(_ findings: [SequenceFinding]) {
        for finding in findings {
            surroundings.out(isJSON
                ? finding.json(at: surroundings.now()).text : finding.text(surroundings.times))
        }
    }

    private func keepTime() async throws {
        while true {
            try await Task.sleep(for: .seconds(1))
            show(state.withLock { $0.check.wait(until: SystemClock.monotonic) })
        }
    }

    private func end(after stop: StopSignal) async throws {
        await stop.wait()
        // The summary may take a while, so a second ^C ends the program.
        stop.letSecondEnd()
        if !Task.isCancelled { await end() }
    }

    private func end(after span: Span?) async throws {
        guard let span else { return }
        try await Task.sleep(for: span.duration)
        await end()
    }

    private func end() async {
        state.withLock { $0.isEnding = true }
        await broker.close()
    }

    private func judge(
        _ summaries: [BoardSummary], _ unchecked: Int64
    ) throws(CommandFailure) {
        let lost = broker.droppedMessages
        guard lost == 0 else {
            throw .degraded("\(lost) messages arrived faster than they were checked: "
                + "missing numbers may be missing only here")
        }
        let faults = summaries.count { !$0.isComplete }
        guard faults == 0 else {
            throw .failed(
                layer: "check", text: "\(faults) of \(summaries.count) boards are not complete")
        }
        guard !summaries.isEmpty else {
            throw .degraded("no message arrived, so nothing was checked")
        }
        guard unchecked == 0, !summaries.contains(where: \.isUnchecked) else {
            throw .degraded("some messages could not be checked")
        }
    }
}
