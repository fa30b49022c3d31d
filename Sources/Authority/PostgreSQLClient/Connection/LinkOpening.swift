import CPostgreSQL
import LinuxIO

extension ServerLink {
    /// Connects and logs in at the first host that accepts. Blocks, up to `limits.connect` for each
    /// host of the address. As in libpq, a host that answers and refuses ends the search.
    ///
    /// Throws `unreachable` or `turnedAway` with the layer that failed at the last host.
    static func open(
        _ address: PostgresAddress, _ limits: PostgresLimits
    ) throws(PostgresError) -> ServerLink {
        var last = PostgresError.address("it names no host")
        for host in address.hosts {
            do throws(PostgresError) {
                return try openTwice(one: host, limits)
            } catch {
                if case .turnedAway = error { throw error }
                last = error
            }
        }
        throw last
    }

    /// Tries a second time after a TLS failure. A server that closes the connection as TLS begins
    /// may look like one whose TLS libpq refuses. The second try shows which: the closed server is
    /// gone by then.
    private static func openTwice(
        one address: PostgresAddress, _ limits: PostgresLimits
    ) throws(PostgresError) -> ServerLink {
        do throws(PostgresError) {
            return try open(one: address, limits)
        } catch .turnedAway(.tls, _) {
            return try open(one: address, limits)
        }
    }

    /// The corresponding C functions are `PQconnectStartParams` and `PQconnectPoll`.
    private static func open(
        one address: PostgresAddress, _ limits: PostgresLimits
    ) throws(PostgresError) -> ServerLink {
        guard let raw = unsafe start(address, limits) else {
            throw .unreachable(.database, "out of memory")
        }
        do throws(PostgresError) {
            try unsafe finish(raw, limits, staysHere: address.staysHere)
        } catch {
            unsafe PQfinish(raw)
            throw error
        }
        guard let link = unsafe ServerLink(owning: raw) else {
            throw .unreachable(.database, "libpq could not enter its pipeline mode")
        }
        return link
    }

    @unsafe
    private static func start(
        _ address: PostgresAddress, _ limits: PostgresLimits
    ) -> OpaquePointer? {
        var parameters = address.parameters
        let own = limits.options
        parameters["options"] = parameters["options"].map { "\(own) \($0)" } ?? own
        if parameters["connect_timeout"] == nil {
            parameters["connect_timeout"] = "\(max(limits.connect.components.seconds, 2))"
        }
        let keywords = CStringArray(parameters.keys.map { Array($0.utf8) }, also: "password")
        let values = CStringArray(
            parameters.values.map { Array($0.utf8) }, also: address.password)
        let raw = unsafe keywords.lend { keywords in
            unsafe values.lend { unsafe PQconnectStartParams(keywords, $0, 0) }
        }
        if let raw = unsafe raw {
            // Notices are not errors, and stderr does not belong to this code.
            _ = unsafe PQsetNoticeProcessor(raw, { _, _ in }, nil)
            // The verbose text is the only place where a refused login shows its SQLSTATE.
            _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
        }
        return unsafe raw
    }

    /// Lets libpq connect until it succeeds or fails. With `staysHere`, no byte is sent to an
    /// address of another machine, whatever its name.
    @unsafe
    private static func finish(
        _ raw: OpaquePointer, _ limits: PostgresLimits, staysHere: Bool
    ) throws(PostgresError) {
        let deadline = ContinuousClock.now + limits.connect
        var reached = CONNECTION_NEEDED
        var hasHungUp = false
        var wanted = PGRES_POLLING_WRITING
        while wanted != PGRES_POLLING_OK {
            let state = unsafe PQstatus(raw)
            guard wanted != PGRES_POLLING_FAILED, state != CONNECTION_BAD else {
                throw unsafe failure(raw, reached, hasHungUp: hasHungUp)
            }
            reached = state
            let isWriting = wanted == PGRES_POLLING_WRITING
            let readiness = SocketWait.readiness(
                unsafe PQsocket(raw), writing: isWriting, reading: !isWriting, deadline - .now)
            guard readiness != .neither else { throw unsafe silence(raw, reached, limits) }
            if staysHere, !(unsafe isHere(raw)) {
                throw .unreachable(.tcp, "the host must be on this machine, but is on another")
            }
            hasHungUp = Self.hasHungUp(unsafe PQsocket(raw), state)
            wanted = unsafe PQconnectPoll(raw)
        }
        _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_TERSE)
    }

    /// Whether the server has ended the connection. Checked only while libpq waits for an answer:
    /// the check removes the socket's error, which libpq needs while it connects.
    private static func hasHungUp(_ socket: Int32, _ state: ConnStatusType) -> Bool {
        guard state == CONNECTION_SSL_STARTUP || state == CONNECTION_AWAITING_RESPONSE
        else { return false }
        return switch SocketProbe.peek(socket) {
        case .closed, .failed: true
        case .nothing, .data: false
        }
    }

    /// The error when no answer came in time. After the server took the connection, the layers
    /// below are not at fault: the database hangs.
    @unsafe
    private static func silence(
        _ raw: OpaquePointer, _ reached: ConnStatusType, _ limits: PostgresLimits
    ) -> PostgresError {
        let words = "no answer in \(limits.connect.components.seconds) s"
        switch reached {
        case CONNECTION_NEEDED, CONNECTION_STARTED:
            return .unreachable(layer(reached, on: unsafe host(raw)), words)
        default: return .unreachable(.database, "it accepts connections, but gives \(words)")
        }
    }

    /// Sorts a failed connection. A server that gives a reason sends an SQLSTATE. A server that
    /// closes the connection may come back later. An answer that libpq itself refuses is refused
    /// again: the server's certificate, no TLS, or a login without a password.
    @unsafe
    private static func failure(
        _ raw: OpaquePointer, _ reached: ConnStatusType, hasHungUp: Bool
    ) -> PostgresError {
        let report = LoginReport(unsafe String(cString: PQerrorMessage(raw)))
        if let state = report.state {
            let layer = state.errorClass == "28" ? PostgresError.Layer.login : .database
            return state.turnsAway
                ? .turnedAway(layer, report.text) : .unreachable(layer, report.text)
        }
        let host = unsafe host(raw)
        let isLookup = reached == CONNECTION_NEEDED && !isSocket(host) && !isNumber(host)
        let failed = isLookup ? .nameLookup : layer(reached, on: host)
        let isRefused = !hasHungUp && (failed == .tls || failed == .login)
        return isRefused ? .turnedAway(failed, report.text) : .unreachable(failed, report.text)
    }

    /// Whether a host is an IP address, so that no lookup is needed.
    private static func isNumber(_ host: String) -> Bool {
        host.contains(":") || host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    }

    private static func isSocket(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@")
    }

    @unsafe
    private static func host(_ raw: OpaquePointer) -> String {
        guard let host = unsafe PQhost(raw) else { return "" }
        return unsafe String(cString: host)
    }

    /// Whether the address under trial belongs to this machine or is a Unix socket.
    @unsafe
    private static func isHere(_ raw: OpaquePointer) -> Bool {
        guard let number = unsafe PQhostaddr(raw) else { return true }
        return PostgresAddress.isHere(unsafe String(cString: number))
    }

    private static func layer(
        _ reached: ConnStatusType, on host: String
    ) -> PostgresError.Layer {
        switch reached {
        case CONNECTION_NEEDED, CONNECTION_STARTED, CONNECTION_MADE:
            isSocket(host) ? .socket : .tcp
        case CONNECTION_SSL_STARTUP: .tls
        case CONNECTION_AWAITING_RESPONSE: .login
        default: .database
        }
    }
}

/// libpq's report on a failed connection. It has several lines.
struct LoginReport {
    /// The server's SQLSTATE, if it sent one.
    let state: SQLState?
    /// The line with the reason, shortened, without detail, hint and source line.
    let text: String

    /// Finds the line with the reason. An example is `FATAL:  28P01: password authentication failed
    /// for user "x"`, after the server's name on the same line. In every language it has two
    /// spaces, the SQLSTATE and a colon.
    init(_ words: String) {
        let lines = words.split(whereSeparator: \.isNewline).map(String.init)
        if let (state, text) = lines.reversed().lazy.compactMap(Self.reason).first {
            (self.state, self.text) = (state, text.firstLine)
        } else {
            state = nil
            text = (lines.last { !$0.hasPrefix("\t") } ?? "no reason given").firstLine
        }
    }

    private static func reason(_ line: String) -> (SQLState, String)? {
        let parts = line.split(separator: ":  ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let told = parts[1].split(separator: ": ", maxSplits: 1)
        guard told.count == 2, let state = SQLState(told[0]) else { return nil }
        return (state, String(told[1]))
    }
}
