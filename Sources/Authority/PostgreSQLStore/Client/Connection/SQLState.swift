/// Five characters by which the server says what kind of error it had.
///
/// Source: PostgreSQL, appendix A, "PostgreSQL Error Codes".
package struct SQLState: Equatable, Sendable {
    package let code: String

    /// Nil where `code` is not five of `0-9A-Z`.
    package init?(_ code: some StringProtocol) {
        guard code.utf8.count == 5,
            code.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return nil }
        self.code = String(code)
    }

    private init(known: String) {
        code = known
    }

    /// What the server never says: it gave none.
    static let absent = SQLState(known: "XX000")
    package static let uniqueViolation = SQLState(known: "23505")
    package static let serializationFailure = SQLState(known: "40001")
    package static let deadlockDetected = SQLState(known: "40P01")
    package static let failedTransaction = SQLState(known: "25P02")
    package static let readOnlyTransaction = SQLState(known: "25006")
    package static let lockNotAvailable = SQLState(known: "55P03")
    package static let queryCanceled = SQLState(known: "57014")
    package static let insufficientPrivilege = SQLState(known: "42501")
    package static let planChanged = SQLState(known: "0A000")
    package static let unknownStatement = SQLState(known: "26000")

    /// Two concurrent transactions met; the same one may succeed when it runs again.
    package var isWorthAnotherTry: Bool {
        self == .serializationFailure || self == .deadlockDetected
    }

    /// The first two characters: the class of the error.
    var errorClass: Substring { code.prefix(2) }

    /// The server ends the connection with this: a restart, an administrator, a time-out.
    var endsConnection: Bool {
        code == "57P01" || code == "57P02" || code == "57P03" || code == "57P05"
            || code == "25P03" || errorClass == "08"
    }

    /// A login is refused by what is configured here or there: a password, a role, a rule of
    /// `pg_hba.conf`, a database, a parameter. Not by the state that the server is in: starting
    /// up, full, out of memory, failing.
    var turnsAway: Bool {
        code == "08P01" || !["08", "53", "57", "58", "XX"].contains(errorClass)
    }

    /// The server has no such function, lets us not call it, or does not in its present role.
    var isUnsupported: Bool {
        code == "42883" || self == .insufficientPrivilege || code == "55000"
    }

    /// A statement that was prepared here is no longer what it was.
    var spoilsStatements: Bool { self == .planChanged || self == .unknownStatement }

    /// The message of such an error may hold the value that was refused.
    var maySayValues: Bool { errorClass == "22" }
}
