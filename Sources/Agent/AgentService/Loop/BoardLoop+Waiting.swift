import AgentCore
import AgentStore
import LinuxIO
import Logging
import MetricsServer
import Sessions

// The start of a turn, and the end of the last one.
extension BoardLoop {
    /// Blocks until something happens or is due, and collects it as events. The loop blocks
    /// nowhere else.
    mutating func wait(_ service: inout LastingParts) throws(SystemError) {
        poller.clear()
        let now = Instant.current
        let busWaits = outbox.busWaits(after: now.monotonic)
        bus.mayWait = busWaits != nil
        bus.register(in: &poller)
        uplink.register(in: &poller)
        service.register(in: &poller)
        let deadline = [
            agent.nextDeadline(at: now), bus.nextDeadline(at: now.monotonic),
            uplink.nextDeadline(at: now.monotonic), outbox.nextDeadline, trimAt, busWaits,
            stalledBus.endsAt, stalledInbox.endsAt, service.nextDeadline,
        ].compactMap(\.self).min()
        _ = try poller.wait(deadline.map { max($0 - now.monotonic, .zero) })
        let woken = SystemClock.monotonic
        outbox.turnBegins(at: woken)
        if let due = trimAt, due <= woken {
            trimAt = nil
            ProcessMemory.trim()
        }
        // Stalled events come first, before events that may report the loss of their connection.
        events += stalledBus.take(at: woken) + stalledInbox.take(at: woken)
        uplink.collect(poller, at: woken, into: &events)
        if let text = bus.collect(poller, at: woken, into: &events) { log.warning("\(text)") }
        // Messages that arrived before a change of the rules are decided by the old rules.
        let isStopping = service.collect(poller, at: woken, into: &events)
        rulesReport = service.rules.report
        answerScrapes(&service)
        // Messages already read are handled first: their PUBACKs are queued already.
        if isStopping { events.append(.stop) }
        events.append(.deadline)
    }

    private mutating func answerScrapes(_ service: inout LastingParts) {
        let asked = service.takeScrapes()
        guard !asked.isEmpty else { return }
        let figures = BoardMetrics(
            agent: agent.figures(at: .current), forwarded: outbox.forwarded,
            refusedUpstream: outbox.refusals, isStalled: stallText != nil,
            isDegraded: isDegraded)
        let answer = ScrapeAnswer.figures(figures.text)
        for id in asked { service.answerScrape(id, answer) }
    }

    /// Makes accepted writes durable, acknowledges them, and disconnects from both brokers.
    mutating func leave(_ ending: Ending, _ service: borrowing LastingParts) -> Ending {
        service.supervisor.stopping()
        defer {
            bus.close()
            uplink.disconnect()
        }
        do throws(StoreError) {
            try outbox.close()
        } catch {
            // These messages were not acknowledged: the local broker delivers them again.
            bus.acknowledge(false)
            log.error("while stopping: \(error)")
            return ending
        }
        tellHeld()
        bus.acknowledge(stalledBus.isEmpty && !hasUnjudged)
        _ = bus.flush(at: SystemClock.monotonic, into: &events)
        return ending
    }
}
