import CSQLite
import Cryptography

extension StoreError {
    /// Sorts an extended result code of SQLite's. Source: sqlite.org/rescode.html.
    init(sqlite code: Int32, _ doing: String) {
        let name = Self.name(code)
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .unavailable(.busy)
        case SQLITE_FULL: self = .unavailable(.full)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: self = .unavailable(.readOnly)
        case SQLITE_NOMEM: self = .unavailable(.noMemory)
        case SQLITE_IOERR where code == Self.dataIsWrong: self = .corrupt("database: \(name)")
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_INTERRUPT, SQLITE_NOLFS:
            self = .unavailable(.inputOutput(name))
        case SQLITE_NOTADB: self = .unreadable("not a database")
        // What is left are a damaged page (SQLITE_CORRUPT), and a table or column that the
        // schema no longer has (SQLITE_ERROR): the statements themselves are fixed.
        default: self = .corrupt("database: \(name) in \(doing)")
        }
    }

    /// `SQLITE_IOERR_DATA`, a macro that Swift does not see.
    private static let dataIsWrong = SQLITE_IOERR | 32 << 8

    private static func name(_ code: Int32) -> String {
        let known = [
            1: "READ", 2: "SHORT_READ", 3: "WRITE", 4: "FSYNC", 5: "DIR_FSYNC", 6: "TRUNCATE",
            7: "FSTAT", 8: "UNLOCK", 9: "RDLOCK", 10: "DELETE", 13: "ACCESS", 15: "LOCK",
            16: "CLOSE", 18: "SHMOPEN", 19: "SHMSIZE", 21: "SHMMAP", 22: "SEEK",
            24: "MMAP", 32: "DATA",
        ]
        let base = unsafe String(cString: sqlite3_errstr(code & 0xFF))
        if code & 0xFF == SQLITE_IOERR, let operation = known[Int(code >> 8)] {
            return "SQLITE_IOERR_\(operation)"
        }
        return "\(base) (SQLite \(code))"
    }

    /// What a failed cipher means: a tag that does not verify is found by its caller, who
    /// knows the record's name.
    init(_ error: CryptographyError) {
        switch error {
        case .openSSL(let function): self = .cryptography(function)
        case .malformed, .notAuthentic: self = .corrupt("a record")
        }
    }
}
