import AuthorityCore
import Sessions
import Synchronization

/// Device keys in memory.
final class DeviceKeyCache: DeviceKeyCaching {
    /// About 30 MB. Beyond it, one entry goes for each that comes.
    static let limit = 200_000

    private let keys = Mutex<[InstallationID: [UInt8]]>([:])

    var count: Int { keys.withLock { $0.count } }

    func key(of board: InstallationID) -> [UInt8]? { keys.withLock { $0[board] } }

    func remember(_ key: [UInt8], of board: InstallationID) {
        keys.withLock { keys in
            if keys.count >= Self.limit, keys[board] == nil, let some = keys.keys.first {
                keys[some] = nil
            }
            keys[board] = key
        }
    }

    func forget(_ board: InstallationID) { keys.withLock { $0[board] = nil } }
}
