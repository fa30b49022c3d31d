import CSQLite

/// The SQLite that this process runs on.
package enum LinkedSQLite {
    /// Such as "3.40.1". The corresponding C function is `sqlite3_libversion`.
    package static var version: String {
        guard let text = unsafe sqlite3_libversion() else { return "unknown" }
        return unsafe String(cString: text)
    }
}
