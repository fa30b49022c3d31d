import CPostgreSQL
import LinuxIO

/// One connection of libpq's, closed with its owner: the socket, and no knowledge of SQL.
///
/// It is in pipeline mode and never blocks but in `wait`, which reads and writes whatever is
/// ready: a client that only wrote would stop for ever once the server, too, only writes.
/// For one thread at a time. The corresponding C type is `PGconn`.
/// Source: PostgreSQL, 34.5 "Pipeline Mode".
@safe
final class ServerLink {
    let raw: OpaquePointer
    private(set) var isBroken = false

    /// Takes over a connection that has been opened. Nil, with the connection closed, where
    /// libpq refuses the modes.
    init?(owning raw: OpaquePointer) {
        unsafe self.raw = unsafe raw
        guard unsafe PQsetnonblocking(raw, 1) == 0, unsafe PQenterPipelineMode(raw) == 1 else {
            unsafe PQfinish(raw)
            return nil
        }
    }

    deinit { unsafe PQfinish(raw) }

    /// To be polled for reading: ready when the server says something or is gone.
    var descriptor: Int32 { unsafe PQsocket(raw) }

    var transaction: PGTransactionStatusType { unsafe PQtransactionStatus(raw) }

    /// Never to be used again, for the reason that `lost` then gives.
    func abandon() { isBroken = true }

    /// The connection is gone, in libpq's words.
    func lost(_ reason: String? = nil) -> PostgresError {
        isBroken = true
        let words = unsafe String(cString: PQerrorMessage(raw)).firstLine
        return .lost(reason ?? (words.isEmpty ? "no reason given" : words), whileCommitting: false)
    }

    /// Whether libpq took what it was given; it gives no other word than 1.
    func check(_ result: Int32) throws(PostgresError) {
        guard result == 1 else { throw lost() }
    }

    /// Hands all that was sent to the kernel, and takes in what comes meanwhile.
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

    /// The next result; nil where the answer to one statement ends.
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
            // On a dead connection it would say so for ever.
            guard unsafe PQstatus(raw) == CONNECTION_OK else { throw lost() }
            return nil
        }
        return unsafe ServerResult(owning: result)
    }

    /// Waits for the socket and takes in what came. The corresponding C functions are `poll`
    /// and `PQconsumeInput`.
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

    /// What the socket is ready for, errors and a hang-up counting as readable; `neither` when
    /// `timeout` is over.
    ///
    /// A descriptor that is none any more counts as readable: who reads finds out why.
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
