public import Foundation

/// Keeps one record: the session with its token. One ``SessionClient`` uses a storage at a time.
///
/// A record is whole or absent. "Nothing stored" and "cannot be read" are two answers: the first is
/// a first launch, the second is reported to the person.
public protocol SessionStorage: Sendable {
    /// The record; nil if none was stored.
    func load() async throws(StorageError) -> Data?
    /// Stores the record in the place of the one before. It is durable once this returns.
    func save(_ record: Data) async throws(StorageError)
    /// Removes the record, and all that was set aside. Nothing stored is no error.
    func clear() async throws(StorageError)
    /// Sets aside a record that was read and makes no sense.
    func setAside() async throws(StorageError)
}

/// Why a storage failed. The text names the place and never holds what is stored.
public enum StorageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Something is stored, and it is damaged or its key is gone. `setAside` is where it is now.
    case unreadable(String, setAside: URL?)
    /// The storage does not answer, has no room, or may not be used now.
    case failed(String)

    public var description: String {
        switch self {
        case .unreadable(let text, let place):
            text + (place.map { "; it is kept as \($0.lastPathComponent)" } ?? "")
        case .failed(let text): text
        }
    }
}
