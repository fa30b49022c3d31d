import AuthorityCore
import Sessions
import Synchronization

/// Counts the wrong master keys of each address.
///
/// After 20 wrong keys in five minutes, no master key from that address counts until the five
/// minutes end, not even the right one. Requests without a master key go on.
final class MasterKeyTries: Sendable {
    static let limit = 20
    private static let window = Duration.seconds(300)
    /// The number of addresses that are kept. If it is reached, the address whose window began
    /// first is forgotten.
    private static let room = 4096

    private struct Count {
        let begin: Duration
        var tries = 0
    }

    private let counts = Mutex<[CountedOrigin: Count]>([:])
    private let clock: @Sendable () -> Duration

    /// `clock` never goes back. Without one, this machine's clock counts.
    init(clock: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.clock = clock ?? { ContinuousClock.now - start }
    }

    /// 155 for an address with too many wrong keys. Runs before any key is compared.
    func admit(_ address: String) throws(AuthorityError) {
        let now = clock()
        let count = counts.withLock { $0[CountedOrigin(address)] }
        guard let count, count.tries >= Self.limit, now - count.begin < Self.window else { return }
        throw .refused(.tooMany("wrong master keys", wait: count.begin + Self.window - now))
    }

    func countWrong(from address: String) {
        let now = clock()
        let origin = CountedOrigin(address)
        counts.withLock { counts in
            var count = counts[origin] ?? Count(begin: now)
            if now - count.begin >= Self.window { count = Count(begin: now) }
            count.tries += 1
            if counts[origin] == nil, counts.count >= Self.room,
                let first = counts.min(by: { $0.value.begin < $1.value.begin }) {
                counts[first.key] = nil
            }
            counts[origin] = count
        }
    }
}
