import CPostgreSQL

/// One result of the server, freed with its owner.
///
/// The corresponding C type is `PGresult`.
@safe
struct ServerResult: ~Copyable {
    private let raw: OpaquePointer

    init(owning raw: OpaquePointer) {
        unsafe self.raw = unsafe raw
    }

    deinit { unsafe PQclear(raw) }

    var status: ExecStatusType { unsafe PQresultStatus(raw) }

    /// The number of rows. The corresponding C function is `PQntuples`.
    var rowCount: Int32 { unsafe PQntuples(raw) }

    /// The command's name and count, such as `COMMIT` or `UPDATE 3`.
    ///
    /// The corresponding C function is `PQcmdStatus`.
    var tag: String {
        guard let text = unsafe PQcmdStatus(raw) else { return "" }
        return unsafe String(cString: text)
    }

    /// The number of rows that the command changed or returned; 0 if it has no count.
    var changes: Int {
        tag.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    /// The types of a described statement's parameters. Throws `misfit` for a type that is not
    /// known here.
    ///
    /// The corresponding C functions are `PQnparams` and `PQparamtype`.
    func parameterTypes() throws(PostgresError) -> [ServerType] {
        var types: [ServerType] = []
        let count = unsafe PQnparams(raw)
        for index in 0..<count {
            types.append(try Self.known(unsafe PQparamtype(raw, index), "parameter \(index + 1)"))
        }
        return types
    }

    /// The corresponding C functions are `PQnfields`, `PQfname` and `PQftype`.
    func columns() throws(PostgresError) -> (names: SQLColumns, types: [ServerType]) {
        var names: [String] = []
        var types: [ServerType] = []
        let count = unsafe PQnfields(raw)
        for index in 0..<count {
            let name = unsafe PQfname(raw, index).map { unsafe String(cString: $0) } ?? ""
            types.append(try Self.known(unsafe PQftype(raw, index), "column \(name)"))
            names.append(name)
        }
        return (SQLColumns(names), types)
    }

    /// The number of bytes of one row, as the server sent it.
    func size(row: Int32) -> Int {
        let count = unsafe PQnfields(raw)
        return (0..<count).reduce(0) { unsafe $0 + Int(PQgetlength(raw, row, $1)) }
    }

    /// Decodes one row with `types`. Throws `misfit` if the result has other columns.
    ///
    /// The corresponding C functions are `PQgetisnull`, `PQgetvalue` and `PQgetlength`.
    func values(row: Int32, _ types: [ServerType]) throws(PostgresError) -> [SQLValue] {
        guard Int(unsafe PQnfields(raw)) == types.count, row < rowCount else {
            throw .misfit("a result has other columns than its statement")
        }
        var values: [SQLValue] = []
        values.reserveCapacity(types.count)
        for (column, type) in zip(Int32(0)..., types) {
            guard unsafe PQftype(raw, column) == type.rawValue else {
                throw .misfit("a column has another type than in its statement")
            }
            if unsafe PQgetisnull(raw, row, column) != 0 {
                values.append(.null)
                continue
            }
            let start = unsafe UnsafeRawPointer(PQgetvalue(raw, row, column))
            let bytes = unsafe UnsafeBufferPointer(
                start: start?.assumingMemoryBound(to: UInt8.self),
                count: start == nil ? 0 : Int(PQgetlength(raw, row, column)))
            values.append(try unsafe type.decode(bytes))
        }
        return values
    }

    /// The error's state and primary message. The detail is left out, because the server quotes
    /// values in it.
    ///
    /// The corresponding C function is `PQresultErrorField`.
    var error: (state: SQLState, text: String) {
        let state = field("C").flatMap { SQLState($0) } ?? .absent
        if state.maySayValues { return (state, "a value that does not fit its type") }
        // Without this field the message is libpq's own, for example that the connection is gone.
        if let text = field("M") { return (state, text.firstLine) }
        guard let text = unsafe PQresultErrorMessage(raw) else { return (state, "") }
        return (state, unsafe String(cString: text).firstLine)
    }

    private func field(_ code: Unicode.Scalar) -> String? {
        guard let text = unsafe PQresultErrorField(raw, Int32(code.value)) else { return nil }
        return unsafe String(cString: text)
    }

    private static func known(_ type: Oid, _ what: String) throws(PostgresError) -> ServerType {
        guard let known = ServerType(rawValue: type) else {
            throw .misfit("\(what) has the unknown type \(type); cast it in the statement")
        }
        return known
    }
}

extension String {
    /// The text before the first line break, at most 300 bytes, for a log.
    var firstLine: String {
        String(decoding: utf8.prefix { $0 != 0x0A && $0 != 0x0D }.prefix(300), as: UTF8.self)
    }
}
