import AuthorityCore
import Sessions
import Synchronization

/// Notes what it is asked to settle: the world does it, one job at a time.
final class SimulatedWorker: JobWorker {
    let consumerAccess: ConsumerAccess? = nil
    private let woken = Mutex<[String]>([])
    private let fates: Fates

    init(_ fates: Fates) { self.fates = fates }

    func settle(_ line: String) async throws(AuthorityError) {
        wake(line)
        guard fates.next(.settle, line) == nil else {
            throw .failed(layer: "MQTT", text: "the broker is away")
        }
    }

    func wake(_ line: String) {
        woken.withLock { if !$0.contains(line) { $0.append(line) } }
    }

    func take() -> [String] {
        woken.withLock { lines in
            defer { lines.removeAll() }
            return lines
        }
    }
}

/// The true time, as the authority's clock tells it.
final class VirtualClock: Sendable {
    private let time = Mutex(SimulatedBoard.start)

    var now: Timestamp { time.withLock { $0 } }
    func set(_ now: Timestamp) { time.withLock { $0 = now } }
}
