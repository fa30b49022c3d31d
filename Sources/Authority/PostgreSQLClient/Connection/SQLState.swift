/// The server's five-character code for the kind of an error.
///
/// Source: PostgreSQL, appendix A, "PostgreSQL Error Codes".
package struct SQLState: Equatable, Sendable {
    package let code: String

    /// Nil if `code` is not five characters of `0-9A-Z`.
    package init?(_ code: some StringProtocol) {
        guard code.utf8.count == 5,
            code.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return nil }
        self.code = String(code)
    }

    private init(known: String) {
        code = known
    }

    /// The code for an error to which the server gave no code.
    static let absent = SQLState(known: "XX000")
    package static let uniqueViolation = SQLState(known: "23505")
    package static let serializationFailure = SQLState(known: "40001")
    package static let deadlockDetected = SQLState(known: "40P01")
    package static let failedTransaction = SQLState(known: "25P02")
    package static let readOnlyTransaction = SQLState(known: "25006")
    package static let lockNotAvailable = SQLState(known: "55P03")
    package static let queryCanceled = SQLState(known: "57014")
    package static let insufficientPrivilege = SQLState(known: "42501")
    package static let diskFull = SQLState(known: "53100")
    package static let planChanged = SQLState(known: "0A000")
    package static let unknownStatement = SQLState(known: "26000")

    /// Two concurrent transactions had a conflict. The same transaction may succeed on a retry.
    package var isWorthAnotherTry: Bool {
        self == .serializationFailure || self == .deadlockDetected
    }

    /// The first two characters: the class of the error.
    var errorClass: Substring { code.prefix(2) }

    /// The server ends the connection with this code: a restart, an administrator, a time-out.
    package var endsConnection: Bool {
        code == "57P01" || code == "57P02" || code == "57P03" || code == "57P05"
            || code == "25P03" || errorClass == "08"
    }

    /// Whether the configuration refuses a login: a password, a role, a rule of `pg_hba.conf`, a
    /// database, a parameter. False for a passing state of the server: starting up, full, out of
    /// memory, failing.
    var turnsAway: Bool {
        code == "08P01" || !["08", "53", "57", "58", "XX"].contains(errorClass)
    }

    /// The server does not have the function, does not permit it, or does not run it in its present
    /// role.
    package var isUnsupported: Bool {
        code == "42883" || self == .insufficientPrivilege || code == "55000"
    }

    /// A prepared statement is no longer valid on the server.
    package var spoilsStatements: Bool { self == .planChanged || self == .unknownStatement }

    /// Whether the message of this error may contain the refused value.
    var maySayValues: Bool { errorClass == "22" }
}
