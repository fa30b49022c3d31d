import CPostgreSQL
import LinuxIO

/// One libpq connection, closed with its owner. It handles the socket and knows no SQL.
///
/// It is in pipeline mode and blocks only in `wait`, which reads and writes whatever is ready. A
/// client that only wrote would block forever when the server also only writes.
/// For one thread at a time. The corresponding C type is `PGconn`.
/// Source: PostgreSQL, 34.5 "Pipeline Mode".
@safe
final class ServerLink {
    let raw: OpaquePointer
    private(set) var isBroken = false

    /// Takes over an open connection. If libpq refuses the modes, the connection is closed and the
    /// result is nil.
    init?(owning raw: OpaquePointer) {
        unsafe self.raw = unsafe raw
        guard unsafe PQsetnonblocking(raw, 1) == 0, unsafe PQenterPipelineMode(raw) == 1 else {
            unsafe PQfinish(raw)
            return nil
        }
    }

    deinit { unsafe PQfinish(raw) }

    /// The descriptor to poll for reading: ready when the server sends something or is gone.
    var descriptor: Int32 { unsafe PQsocket(raw) }

    var transaction: PGTransactionStatusType { unsafe PQtransactionStatus(raw) }

    /// Marks the connection as unusable. `lost` gives the reason.
    func abandon() { isBroken = true }

    /// Marks the connection as gone and returns the error, in libpq's words.
    func lost(_ reason: String? = nil) -> PostgresError {
        isBroken = true
        let words = unsafe String(cString: PQerrorMessage(raw)).firstLine
        return .lost(reason ?? (words.isEmpty ? "no reason given" : words), whileCommitting: false)
    }

    /// Checks the result of a libpq call: only 1 means success.
    func check(_ result: Int32) throws(PostgresError) {
        guard result == 1 else { throw lost() }
    }

    /// Gives all sent data to the kernel, and reads what arrives meanwhile.
    ///
    /// The corresponding C function is `PQflush`.
    func flush(_ deadline: ContinuousClock.Instant?) throws(PostgresError) {
        while true {
            switch unsafe PQflush(raw) {
            case 0: return
            case 1: try wait(writing: true, deadline)
            default: throw lost()
            }
        }
    }

    /// The next result; nil at the end of the answer to one statement.
    ///
    /// The corresponding C functions are `PQisBusy` and `PQgetResult`, which is called only
    /// when it will not block.
    func next(_ deadline: ContinuousClock.Instant?) throws(PostgresError) -> ServerResult? {
        while unsafe PQisBusy(raw) != 0 {
            let left = unsafe PQflush(raw)
            guard left >= 0 else { throw lost() }
            try wait(writing: left > 0, deadline)
        }
        guard let result = unsafe PQgetResult(raw) else {
            // On a dead connection `PQgetResult` would return nil forever.
            guard unsafe PQstatus(raw) == CONNECTION_OK else { throw lost() }
            return nil
        }
        return unsafe ServerResult(owning: result)
    }

    /// Waits for the socket and reads what arrived. The corresponding C functions are `poll` and
    /// `PQconsumeInput`.
    private func wait(
        writing: Bool, _ deadline: ContinuousClock.Instant?
    ) throws(PostgresError) {
        let timeout = deadline.map { $0 - .now }
        switch SocketWait.readiness(descriptor, writing: writing, timeout) {
        case .readable: try check(unsafe PQconsumeInput(raw))
        case .writable: return
        case .neither: throw lost("no answer in time")
        }
    }
}

/// One wait for one socket.
enum SocketWait {
    enum Readiness { case readable, writable, neither }

    /// The state of the socket. Errors and a closed connection count as readable. `neither` means
    /// that `timeout` has passed.
    ///
    /// A descriptor that is no longer valid counts as readable: the reader then finds the cause.
    static func readiness(
        _ descriptor: Int32, writing: Bool = false, reading: Bool = true, _ timeout: Duration?
    ) -> Readiness {
        guard descriptor >= 0 else { return .readable }
        var poller = Poller()
        let slot = poller.add(descriptor, read: reading, write: writing)
        do throws(SystemError) {
            guard try poller.wait(timeout) > 0 else { return .neither }
        } catch {
            return .readable
        }
        return poller.isReadable(slot) ? .readable : .writable
    }
}
