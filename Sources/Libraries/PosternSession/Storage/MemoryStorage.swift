public import Foundation

/// Keeps the session until the program ends: for tests, and for apps that ask at each launch.
public actor MemoryStorage: SessionStorage {
    private var record: Data?

    public init() {}

    public func load() -> Data? { record }
    public func save(_ record: Data) { self.record = record }
    public func clear() { record = nil }
    public func setAside() { record = nil }
}
