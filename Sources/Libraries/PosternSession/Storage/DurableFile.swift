import Foundation

/// A small file that is there as a whole or not at all, also after a power cut. Mode 0600.
struct DurableFile: Sendable {
    let url: URL

    init(_ url: URL) { self.url = url.standardizedFileURL }

    private var folder: URL { url.deletingLastPathComponent() }
    private var files: FileManager { .default }

    /// Nil if there is no such file.
    func read(limit: Int) throws(StorageError) -> Data? {
        guard files.fileExists(atPath: url.path) else { return nil }
        return try attempt("read") {
            let handle = try FileHandle(forReadingFrom: url)
            defer { try? handle.close() }
            return try handle.read(upToCount: limit) ?? Data()
        }
    }

    /// Writes a temporary file, syncs it, renames it, and syncs the folder.
    func write(_ data: Data) throws(StorageError) {
        let temporary = url.appendingPathExtension("new")
        try attempt("write") {
            try files.createDirectory(at: folder, withIntermediateDirectories: true)
            try? files.removeItem(at: temporary)
            // It has its mode from the beginning: nobody else can open it before it is set.
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let descriptor = unsafe open(temporary.path, flags, 0o600)
            guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            defer { try? handle.close() }
            try handle.write(contentsOf: data)
            try handle.synchronize()
            guard unsafe rename(temporary.path, url.path) == 0 else {
                throw CocoaError(.fileWriteUnknown)
            }
            try syncFolder()
        }
    }

    func remove() throws(StorageError) { try remove(url) }

    /// Renames the file, so that a person can look at it. Returns its place.
    func setAside() throws(StorageError) -> URL? {
        guard files.fileExists(atPath: url.path) else { return nil }
        let place = url.appendingPathExtension("unreadable")
        try attempt("set aside") {
            guard unsafe rename(url.path, place.path) == 0 else {
                throw CocoaError(.fileWriteUnknown)
            }
            try syncFolder()
        }
        return place
    }

    func removeAside() throws(StorageError) {
        try remove(url.appendingPathExtension("unreadable"))
        try remove(url.appendingPathExtension("new"))
    }

    private func remove(_ url: URL) throws(StorageError) {
        guard files.fileExists(atPath: url.path) else { return }
        try attempt("remove") {
            try files.removeItem(at: url)
            try syncFolder()
        }
    }

    private func syncFolder() throws {
        let handle = try FileHandle(forReadingFrom: folder)
        defer { try? handle.close() }
        try handle.synchronize()
    }

    private func attempt<Value>(
        _ what: String, _ work: () throws -> Value
    ) throws(StorageError) -> Value {
        do {
            return try work()
        } catch {
            throw .failed("cannot \(what) \(url.path): \(error.localizedDescription)")
        }
    }
}
