import Foundation

/// A temporary folder, deleted with its owner.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/data-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/data.db" }
}
