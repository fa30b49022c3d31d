import AuthorityCore
import LinuxIO
import Logging
import Synchronization

/// Counts refused requests by reason. It logs a limited number of lines a minute for each reason,
/// so that a flood hides no other lines.
final class RefusalLog: Sendable {
    /// The number of lines for one reason in one `window`.
    static let lines = 10
    static let window = Duration.seconds(60)

    private struct Page {
        var total = 0
        var begin: Duration?
        var written = 0
        var leftOut = 0

        /// The number of requests before this one that were not logged; nil if this one is not
        /// logged either.
        mutating func admit(at now: Duration) -> Int? {
            total += 1
            if begin.map({ now - $0 >= RefusalLog.window }) ?? true { (begin, written) = (now, 0) }
            guard written < RefusalLog.lines else {
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

    /// `clock` never goes back.
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
            isTheft ? "a board sent another board's token, which was stolen"
                : "a request was refused",
            metadata: metadata)
    }

    /// The count of each reason since the start, including zeros.
    var tally: [RefusalReason: Int] {
        let pages = pages.withLock { $0 }
        return Dictionary(uniqueKeysWithValues: RefusalReason.allCases.map {
            ($0, pages[$0]?.total ?? 0)
        })
    }
}
