import Glibc

/// The changes to the watched files since the last `take`.
package struct FolderChanges: Equatable, Sendable {
    /// A file was written and closed, renamed or removed, or its mode or owner changed.
    package var hasChanged = false
    /// The watched folder was removed, renamed or unmounted. No more changes arrive; make a new
    /// watch.
    package var isLost = false

    package init(hasChanged: Bool = false, isLost: Bool = false) {
        self.hasChanged = hasChanged
        self.isLost = isLost
    }
}

/// Reports changes to named files of one folder, including files that are created later.
///
/// It wakes no poll while the folder does not change. It does not report writes through a memory
/// mapping, a new hard link to a file, or changes behind a symbolic link. The corresponding C
/// functions are `inotify_init1` and `inotify_add_watch`.
package struct FolderWatch: ~Copyable {
    private let handle: Descriptor
    private let names: Set<String>
    private var unfinished: Set<String> = []

    /// Watches `names` in the folder at `path`, which may itself be a symbolic link.
    package init(_ path: String, names: Set<String>) throws(SystemError) {
        let raw = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard raw >= 0 else { throw .last("inotify_init1") }
        let handle = Descriptor(owning: raw)
        let events = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
            | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
        guard unsafe inotify_add_watch(handle.raw, path, UInt32(bitPattern: events)) >= 0 else {
            throw .last("inotify_add_watch")
        }
        self.handle = handle
        self.names = names
    }

    /// Poll it for reading.
    package var descriptor: Int32 { handle.raw }

    /// Whether a file was written to and not closed since. Its content may be incomplete then.
    package var isBeingWritten: Bool { !unfinished.isEmpty }

    /// Takes all changes that were reported so far. Never blocks.
    package mutating func take() -> FolderChanges {
        var news = FolderChanges()
        var buffer = [UInt8](repeating: 0, count: 8192)
        while true {
            let read: Descriptor.Read
            do throws(SystemError) {
                read = try handle.read(into: &buffer)
            } catch {
                news.isLost = true
                return news
            }
            guard case .bytes(let count) = read else { return news }
            unsafe buffer.withUnsafeBytes { bytes in
                unsafe takeEvents(UnsafeRawBufferPointer(rebasing: bytes[..<count]), into: &news)
            }
        }
    }

    /// Source: inotify(7), "Reading events from an inotify file descriptor".
    private mutating func takeEvents(
        _ bytes: UnsafeRawBufferPointer, into news: inout FolderChanges
    ) {
        let size = MemoryLayout<inotify_event>.size
        var offset = 0
        while offset + size <= bytes.count {
            let event = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = min(offset + size + Int(event.len), bytes.count)
            let name = unsafe bytes[(offset + size)..<end].prefix { $0 != 0 }
            unsafe take(
                Int32(bitPattern: event.mask), String(decoding: name, as: UTF8.self), into: &news)
            offset = end
        }
    }

    private mutating func take(_ event: Int32, _ name: String, into news: inout FolderChanges) {
        if event & (IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF) != 0 {
            news.isLost = true
        }
        if event & IN_Q_OVERFLOW != 0 {
            // The lost events may include the end of a write, or a change.
            unfinished.removeAll()
            news.hasChanged = true
        }
        guard names.contains(name) else { return }
        if event & IN_MODIFY != 0 {
            unfinished.insert(name)
        } else {
            if event & IN_ATTRIB == 0 { unfinished.remove(name) }
            news.hasChanged = true
        }
    }
}
