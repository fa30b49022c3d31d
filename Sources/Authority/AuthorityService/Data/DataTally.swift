import AuthorityCore
import Sessions
import Synchronization

/// Counts what happens to the boards' data, since the start, and says why it waits.
final class DataTally: Sendable {
    struct Counts: Sendable {
        var stored = 0
        /// Messages that the broker delivered again.
        var repeated = 0
        var unkept: [UnkeptReason: Int] = [:]
        var trimmed = TrimCount()
        /// Nil before the first look.
        var usage: DataUsage?
        /// Why records are not stored at present; nil while they are.
        var waiting: String?
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func note(_ count: KeepCount) {
        state.withLock { counts in
            counts.stored += count.stored
            counts.repeated += count.repeated
        }
    }

    func note(_ unkept: [UnkeptReason: Int]) {
        guard !unkept.isEmpty else { return }
        state.withLock { $0.unkept.merge(unkept, uniquingKeysWith: +) }
    }

    func note(_ trimmed: TrimCount) {
        state.withLock { counts in
            counts.trimmed.old += trimmed.old
            counts.trimmed.oversize += trimmed.oversize
        }
    }

    func note(_ usage: DataUsage) { state.withLock { $0.usage = usage } }

    /// Notes why records wait, or with nil that they do not.
    func wait(_ reason: String?) { state.withLock { $0.waiting = reason } }
}
