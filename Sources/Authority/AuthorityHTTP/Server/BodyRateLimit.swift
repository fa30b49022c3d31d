import AuthorityCore

/// Limits how many bytes of bodies are parsed before the caller is known.
///
/// A body that names the caller must be parsed before the caller is checked. There is a limit for
/// each address and one for all together.
struct BodyRateLimit: Sendable {
    private struct Bucket {
        var bytes: Int
        var last: Duration
    }

    /// Bytes per second (`rate`), and bytes at once (`burst`).
    private static let ofAddress = (rate: 128 << 10, burst: 512 << 10)
    private static let ofAll = (rate: 4 << 20, burst: 8 << 20)
    /// If so many addresses are known, all are forgotten. Each then has its full burst again.
    private static let limit = 10_000
    /// When a refused caller may ask again.
    static let retryAfter = Duration.seconds(1)

    private var addresses: [CountedOrigin: Bucket] = [:]
    private var all: Bucket?

    /// Whether `count` bytes may be parsed now; if so, they are counted. `now` comes from a clock
    /// that never goes back.
    mutating func take(_ count: Int, from origin: CountedOrigin, at now: Duration) -> Bool {
        if addresses[origin] == nil, addresses.count >= Self.limit { addresses = [:] }
        let own = Self.filled(addresses[origin], Self.ofAddress, at: now)
        let common = Self.filled(all, Self.ofAll, at: now)
        let isAllowed = own.bytes >= count && common.bytes >= count
        addresses[origin] = Bucket(bytes: own.bytes - (isAllowed ? count : 0), last: now)
        all = Bucket(bytes: common.bytes - (isAllowed ? count : 0), last: now)
        return isAllowed
    }

    private static func filled(
        _ bucket: Bucket?, _ limit: (rate: Int, burst: Int), at now: Duration
    ) -> Bucket {
        guard let bucket else { return Bucket(bytes: limit.burst, last: now) }
        let gained = Double(limit.rate) * max(0, (now - bucket.last) / .seconds(1))
        return Bucket(
            bytes: Int(min(Double(limit.burst), Double(bucket.bytes) + gained)), last: now)
    }
}
