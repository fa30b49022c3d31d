import Sessions
import Synchronization

/// The device key that last opened a message of each board, so that most heartbeats need no look
/// at the store before their transaction.
final class DeviceKeyCache: Sendable {
    /// About 30 MB. Beyond it, one entry goes for each that comes.
    static let limit = 200_000

    private let keys = Mutex<[InstallationID: [UInt8]]>([:])

    var count: Int { keys.withLock { $0.count } }

    func key(of board: InstallationID) -> [UInt8]? { keys.withLock { $0[board] } }

    /// Nil forgets it.
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
