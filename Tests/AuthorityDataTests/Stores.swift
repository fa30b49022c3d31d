import AuthorityCore
import AuthorityData

/// The stores that every test of the behaviour runs on.
enum Stores: String, CaseIterable, Sendable {
    case sqlite

    static var all: [Stores] { allCases }

    /// The seconds between two records of a store that is filled.
    var spread: Int64 { 1 }

    func make() async throws -> OpenStore {
        let folder = try Folder()
        return OpenStore(try SQLiteDataStore(path: folder.file), folder)
    }
}
