import Foundation
import PosternSession

/// Keeps the session in memory. A save waits while it is held, and a stuck record is never removed.
actor TroubledStorage: SessionStorage {
    private let isStuck: Bool
    private var record: Data?
    private var isHeld = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(isStuck: Bool) { self.isStuck = isStuck }

    func hold() { isHeld = true }

    func release() {
        isHeld = false
        for one in waiting { one.resume() }
        waiting = []
    }

    func load() -> Data? { record }

    func save(_ record: Data) async {
        if isHeld {
            await withCheckedContinuation { one in
                waiting.append(one)
                say(["event": "saving"])
            }
        }
        self.record = record
    }

    func clear() throws(StorageError) {
        if isStuck { throw .failed("the record is stuck") }
        record = nil
    }

    func setAside() { record = nil }
}
