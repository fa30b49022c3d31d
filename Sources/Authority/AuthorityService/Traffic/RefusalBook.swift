import AuthorityCore
import LinuxIO
import Logging
import Synchronization

/// Counts the requests that were refused, by why, and writes so many lines a minute of each
/// reason into the log, so that a flood hides nothing else there.
final class RefusalBook: Sendable {
    /// Lines of one reason in one `window`.
    static let lines = 10
    static let window = Duration.seconds(60)

    private struct Page {
        var total = 0
        var begin: Duration?
        var written = 0
        var leftOut = 0

        /// How many before it were not written; nil where it is not to be written itself.
        mutating func admit(at now: Duration) -> Int? {
            total += 1
            if begin.map({ now - $0 >= RefusalBook.window }) ?? true { (begin, written) = (now, 0) }
            guard written < RefusalBook.lines else {
                leftOut += 1
                return nil
            }
            written += 1
            defer { leftOut = 0 }
            return leftOut
        }
    }

    private let pages = Mutex<[RefusalReason: Page]>([:])
    private let logger: Logger
    private let clock: @Sendable () -> Duration

    /// A clock that never goes back; this machine's without one.
    init(logger: Logger, clock: @escaping @Sendable () -> Duration = { SystemClock.monotonic }) {
        self.logger = logger
        self.clock = clock
    }

    func note(_ request: RefusedRequest) {
        let now = clock()
        let leftOut = pages.withLock { $0[request.reason, default: Page()].admit(at: now) }
        guard let leftOut else { return }
        let isTheft = request.reason == .foreignToken
        var metadata: Logger.Metadata = [
            "reason": "\(request.reason.rawValue)", "subject": "\(request.subject)",
            "class": "\(request.className)", "operation": "\(request.operation)",
        ]
        if let origin = request.origin { metadata["from"] = "\(origin)" }
        if leftOut > 0 { metadata["left-out"] = "\(leftOut)" }
        logger.log(
            level: isTheft ? .error : .notice,
            isTheft ? "a board shows another board's token, which was stolen"
                : "a request is refused",
            metadata: metadata)
    }

    /// How often each reason occurred since the start; each of them is there.
    var tally: [RefusalReason: Int] {
        let pages = pages.withLock { $0 }
        return Dictionary(uniqueKeysWithValues: RefusalReason.allCases.map {
            ($0, pages[$0]?.total ?? 0)
        })
    }
}
