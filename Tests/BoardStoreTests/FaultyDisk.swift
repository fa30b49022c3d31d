import CSQLite
import Glibc
import Synchronization

/// SQLite's own file layer, which fails where a test says so. Once used, it stays for the
/// process; files that no test named are not touched.
///
/// Source: sqlite.org/vfs.html. The corresponding C types are `sqlite3_vfs` and
/// `sqlite3_io_methods`.
enum FaultyDisk {
    enum Operation: Hashable { case read, write, sync, truncate }

    struct Plan {
        /// How many operations of a kind still succeed; nil: all.
        var left: [Operation: Int] = [:]
        /// The result code of those that do not.
        var code = SQLITE_FULL
        /// Whether one that fails is the only one.
        var isOnce = false
        var counts: [Operation: Int] = [:]
    }

    /// Plans by the path of the database, its log included.
    private static let plans = Mutex<[String: Plan]>([:])
    /// For each open file its database, and where SQLite's own functions for it stand.
    private static let files = Mutex<[Int: (path: String, methods: Int)]>([:])

    private static let isReady: Bool = {
        guard let base = unsafe sqlite3_vfs_find(nil) else { return false }
        let copy = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe copy.initialize(to: base.pointee)
        unsafe copy.pointee.pNext = nil
        unsafe copy.pointee.zName = UnsafePointer(strdup("faulty"))
        unsafe copy.pointee.xOpen = { vfs, name, file, flags, out in
            guard let base = unsafe sqlite3_vfs_find("unix"), let file = unsafe file else {
                return SQLITE_CANTOPEN
            }
            let result = unsafe base.pointee.xOpen(vfs, name, file, flags, out)
            let path = unsafe name.map { unsafe String(cString: $0) } ?? ""
            if result == SQLITE_OK { unsafe FaultyDisk.adopt(file, path) }
            return result
        }
        return unsafe sqlite3_vfs_register(copy, 1) == SQLITE_OK
    }()

    /// Lets the files of a database fail as planned from now on, also those that are opened.
    static func plan(_ path: String, _ plan: Plan) {
        _ = isReady
        plans.withLock { $0[path] = plan }
    }

    static func counts(_ path: String) -> [Operation: Int] {
        plans.withLock { $0[path]?.counts ?? [:] }
    }

    private static func adopt(_ file: UnsafeMutablePointer<sqlite3_file>, _ path: String) {
        let database = path.hasSuffix("-wal") ? String(path.dropLast(4)) : path
        guard plans.withLock({ $0[database] != nil }),
            let methods = unsafe file.pointee.pMethods
        else { return }
        let key = Int(bitPattern: file)
        files.withLock { $0[key] = (database, Int(bitPattern: methods)) }
        // Never freed: SQLite may use it as long as the process lives.
        let changed = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe changed.initialize(to: methods.pointee)
        unsafe changed.pointee.xRead = { file, bytes, count, place in
            if let code = unsafe FaultyDisk.fault(file, .read) { return code }
            return unsafe FaultyDisk.own(file).xRead(file, bytes, count, place)
        }
        unsafe changed.pointee.xWrite = { file, bytes, count, place in
            if let code = unsafe FaultyDisk.fault(file, .write) { return code }
            return unsafe FaultyDisk.own(file).xWrite(file, bytes, count, place)
        }
        unsafe changed.pointee.xSync = { file, flags in
            if let code = unsafe FaultyDisk.fault(file, .sync) { return code }
            return unsafe FaultyDisk.own(file).xSync(file, flags)
        }
        unsafe changed.pointee.xTruncate = { file, size in
            if let code = unsafe FaultyDisk.fault(file, .truncate) { return code }
            return unsafe FaultyDisk.own(file).xTruncate(file, size)
        }
        unsafe file.pointee.pMethods = UnsafePointer(changed)
    }

    private static func own(_ file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods {
        let place = files.withLock { $0[Int(bitPattern: file)]?.methods ?? 0 }
        return unsafe UnsafePointer<sqlite3_io_methods>(bitPattern: place)?.pointee
            ?? sqlite3_io_methods()
    }

    private static func fault(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: Operation
    ) -> Int32? {
        let key = Int(bitPattern: file)
        guard let path = files.withLock({ $0[key]?.path }) else { return nil }
        return plans.withLock { plans -> Int32? in
            plans[path]?.counts[operation, default: 0] += 1
            guard let plan = plans[path], let left = plan.left[operation] else { return nil }
            plans[path]?.left[operation] = left == 0 && plan.isOnce ? nil : max(0, left - 1)
            return left == 0 ? plan.code : nil
        }
    }
}
