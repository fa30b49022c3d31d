import AuthorityBroker
import AuthorityCore
import Logging
import Sessions
import Synchronization

/// Counts the boards. From the count follows the time over which boards spread requests that would
/// all come at one moment. Every replica counts the same boards in the shared store.
final class FleetSize: Sendable {
    typealias Count = @Sendable () async throws(AuthorityError) -> Int
    private static let round = Duration.seconds(300)
    /// From this number of boards on the spread stays the same, so more need not be counted.
    static let enough = Int(FleetSpread.widest.components.seconds)

    private let configured: Duration?
    private let logger: Logger
    private let boards = Mutex<Int?>(nil)

    /// `configured` is `[session] spread`. If it is set, it is always used.
    init(configured: Duration?, logger: Logger) {
        self.configured = configured
        self.logger = logger
    }

    /// Nil before the first count: boards keep the last value they received.
    var spread: Duration? {
        configured ?? boards.withLock { $0 }.map(FleetSpread.window)
    }

    /// Counts every five minutes, until its task is cancelled.
    func run(_ count: Count) async {
        while !Task.isCancelled { await pause(await look(count)) }
    }

    /// Counts once and returns the time until the next count. If it fails, the previous count
    /// stays.
    func look(_ count: Count) async -> Duration {
        do throws(AuthorityError) {
            let number = try await count()
            boards.withLock { $0 = number }
            return Self.round
        } catch {
            if !Task.isCancelled { logger.error("the boards could not be counted: \(error.words)") }
            return .seconds(10)
        }
    }
}
