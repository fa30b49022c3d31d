import Foundation
import Sessions
import Synchronization

/// A clock that goes when it is told to.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>

    init(_ milliseconds: Int64 = 1_800_000_000_000) {
        time = Mutex(Timestamp(milliseconds: milliseconds))
    }

    var now: Timestamp { time.withLock { $0 } }

    func advance(_ span: Duration) { time.withLock { $0 = $0 + span } }
}

/// A folder that goes when its test is over.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let name = "postern-test-\(UUID().uuidString)"
        path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension SecretBytes {
    convenience init(_ text: String) { self.init(Array(text.utf8)) }
}
