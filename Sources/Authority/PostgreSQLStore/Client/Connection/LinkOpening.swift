import CPostgreSQL

extension ServerLink {
    /// Connects and logs in at the first host that lets us. Blocks, up to `limits.connect` for each
    /// that the address names. As with libpq, none is tried after one that answers and refuses.
    ///
    /// Throws `unreachable` or `turnedAway` with the layer that failed at the last.
    static func open(
        _ address: PostgresAddress, _ limits: PostgresLimits
    ) throws(PostgresError) -> ServerLink {
        var last = PostgresError.address("it names no host")
        for host in address.hosts {
            do throws(PostgresError) {
                return try open(one: host, limits)
            } catch {
                if case .turnedAway = error { throw error }
                last = error
            }
        }
        throw last
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
            throw .unreachable(.database, "libpq refuses its pipeline mode")
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
            // Notices are no errors, and stderr is not ours to write to.
            _ = unsafe PQsetNoticeProcessor(raw, { _, _ in }, nil)
            // So that a refused login says its SQLSTATE, which it says nowhere else.
            _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
        }
        return unsafe raw
    }

    /// Lets libpq connect until it has, or has failed. With `staysHere` no byte is sent to an
    /// address that is another machine's, whatever names it.
    @unsafe
    private static func finish(
        _ raw: OpaquePointer, _ limits: PostgresLimits, staysHere: Bool
    ) throws(PostgresError) {
        let deadline = ContinuousClock.now + limits.connect
        var reached = CONNECTION_NEEDED
        var wanted = PGRES_POLLING_WRITING
        while wanted != PGRES_POLLING_OK {
            let state = unsafe PQstatus(raw)
            guard wanted != PGRES_POLLING_FAILED, state != CONNECTION_BAD else {
                throw unsafe failure(raw, reached)
            }
            reached = state
            let isWriting = wanted == PGRES_POLLING_WRITING
            let readiness = SocketWait.readiness(
                unsafe PQsocket(raw), writing: isWriting, reading: !isWriting, deadline - .now)
            guard readiness != .neither else { throw unsafe silence(raw, reached, limits) }
            if staysHere, !(unsafe isHere(raw)) {
                throw .unreachable(.tcp, "the host is not on this machine, as it was taken to be")
            }
            wanted = unsafe PQconnectPoll(raw)
        }
        _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_TERSE)
    }

    /// Nothing came in time. Once it has taken the connection no layer between is at fault: it
    /// hangs.
    @unsafe
    private static func silence(
        _ raw: OpaquePointer, _ reached: ConnStatusType, _ limits: PostgresLimits
    ) -> PostgresError {
        let words = "no answer in \(limits.connect.components.seconds) s"
        switch reached {
        case CONNECTION_NEEDED, CONNECTION_STARTED:
            return .unreachable(layer(reached, on: unsafe host(raw)), words)
        default: return .unreachable(.database, "it takes connections, and then gives \(words)")
        }
    }

    @unsafe
    private static func failure(
        _ raw: OpaquePointer, _ reached: ConnStatusType
    ) -> PostgresError {
        let words = unsafe String(cString: PQerrorMessage(raw))
        let report = LoginReport(words)
        if report.isNameLookup { return .unreachable(.nameLookup, report.text) }
        if let state = report.state {
            let layer = state.errorClass == "28" ? PostgresError.Layer.login : .database
            return state.turnsAway
                ? .turnedAway(layer, report.text) : .unreachable(layer, report.text)
        }
        let failed = layer(reached, on: unsafe host(raw))
        return report.isConfigured ? .turnedAway(failed, report.text)
            : .unreachable(failed, report.text)
    }

    @unsafe
    private static func host(_ raw: OpaquePointer) -> String {
        guard let host = unsafe PQhost(raw) else { return "" }
        return unsafe String(cString: host)
    }

    /// Whether the address that is being tried is this machine's, or a Unix socket.
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
            host.hasPrefix("/") || host.hasPrefix("@") ? .socket : .tcp
        case CONNECTION_SSL_STARTUP: .tls
        case CONNECTION_AWAITING_RESPONSE: .login
        default: .database
        }
    }
}

/// What libpq says of a connection that failed, several lines of it.
struct LoginReport {
    /// The server's, where it came to words with it.
    let state: SQLState?
    /// The first line that says why, shortened, without detail, hint and source line.
    let text: String
    let isNameLookup: Bool
    /// Whether libpq itself will have none of it, whenever it is tried.
    let isConfigured: Bool

    /// Reads `FATAL:  28P01: password authentication failed for user "x"`, which follows the
    /// name of the server on its line, and libpq's own lines.
    init(_ words: String) {
        let lines = words.split(whereSeparator: \.isNewline).map(String.init)
        let fatal = lines.last { $0.contains("FATAL:  ") || $0.contains("ERROR:  ") }
        let line = fatal ?? lines.last { !$0.hasPrefix("\t") } ?? "no reason given"
        let parts = line.split(separator: ":  ", maxSplits: 1)
        let told = parts.count == 2 ? parts[1].split(separator: ": ", maxSplits: 1) : []
        state = fatal == nil ? nil : told.first.flatMap { SQLState($0) }
        text = (state != nil && told.count == 2 ? String(told[1]) : line).firstLine
        isNameLookup = state == nil && line.contains("could not translate host name")
        isConfigured = state == nil && Self.configured.contains(where: line.contains)
    }

    /// Parts of libpq's words. Source: PostgreSQL 15, fe-connect.c, fe-auth.c, fe-secure-common.c
    /// and fe-secure-openssl.c.
    private static let configured = [
        "certificate verify failed", "does not match host name", "does not support SSL",
        "root certificate file", "certificate file", "private key file", "no password supplied",
        "channel binding required",
    ]
}
