import AuthorityCore
import Logging
import Sessions
import Synchronization

/// How many boards there are, and so over how long they are told to spread what all of them
/// want at one moment. Every replica counts the same in the store they share.
final class FleetSize: Sendable {
    typealias Count = @Sendable () async throws(AuthorityError) -> Int
    private static let round = Duration.seconds(300)
    /// More boards spread over no longer span, and need not be counted.
    static let enough = Int(FleetSpread.widest.components.seconds)

    private let configured: Duration?
    private let logger: Logger
    private let boards = Mutex<Int?>(nil)

    /// `configured` is `[session] spread`, which counts alone where it is given.
    init(configured: Duration?, logger: Logger) {
        self.configured = configured
        self.logger = logger
    }

    /// Nil before the first count: boards keep what they were told last.
    var spread: Duration? {
        configured ?? boards.withLock { $0 }.map(FleetSpread.window)
    }

    /// Counts every five minutes, until its task is cancelled.
    func run(_ count: Count) async {
        while !Task.isCancelled { await pause(await look(count)) }
    }

    /// Counts once and says how long that is good for. A count that fails leaves the one before.
    func look(_ count: Count) async -> Duration {
        do throws(AuthorityError) {
            let number = try await count()
            boards.withLock { $0 = number }
            return Self.round
        } catch {
            if !Task.isCancelled { logger.error("the boards' number: \(error.words)") }
            return .seconds(10)
        }
    }
}
