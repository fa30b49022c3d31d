import Sessions
import Synchronization

/// A cache of the device key that last opened a message of each board. With it, most heartbeats
/// need no read of the store before their transaction.
final class DeviceKeyCache: Sendable {
    /// About 30 MB. When the cache is full, each new entry replaces another.
    static let limit = 200_000

    private let keys = Mutex<[InstallationID: [UInt8]]>([:])

    var count: Int { keys.withLock { $0.count } }

    func key(of board: InstallationID) -> [UInt8]? { keys.withLock { $0[board] } }

    /// Nil deletes the entry.
    func remember(_ key: [UInt8]?, of board: InstallationID) {
        keys.withLock { keys in
            if key != nil, keys.count >= Self.limit, keys[board] == nil,
                let some = keys.keys.first
            {
                keys[some] = nil
            }
            keys[board] = key
        }
    }
}
