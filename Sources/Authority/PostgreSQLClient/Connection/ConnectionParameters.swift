import CPostgreSQL

/// libpq's own parser for its connection parameters.
enum ConnectionParameters {
    /// The parameters that the URI contains, percent-decoded, and no others.
    ///
    /// The corresponding C function is `PQconninfoParse`. Its message may quote the URI, so it is
    /// not passed on.
    static func parse(_ uri: String) throws(PostgresError) -> [String: String] {
        guard uri.utf8.count <= 4096, !uri.utf8.contains(0),
            uri.hasPrefix("postgres://") || uri.hasPrefix("postgresql://")
        else {
            throw .address("it has the form postgres://user@host:port/database")
        }
        var message: UnsafeMutablePointer<CChar>?
        let options = unsafe PQconninfoParse(uri, &message)
        if let message = unsafe message { unsafe PQfreemem(message) }
        guard let options = unsafe options else {
            throw .address("libpq cannot read it: postgres://user@host:port/database?option=value")
        }
        defer { unsafe PQconninfoFree(options) }
        return unsafe values(options)
    }

    /// The values that the environment and libpq would fill in, without any password.
    ///
    /// The corresponding C function is `PQconndefaults`.
    static func defaults() -> [String: String] {
        guard let options = unsafe PQconndefaults() else { return [:] }
        defer { unsafe PQconninfoFree(options) }
        return unsafe values(options).filter { $0.key != "password" && $0.key != "sslpassword" }
    }

    /// The array ends with an entry that has no keyword.
    @unsafe
    private static func values(
        _ options: UnsafeMutablePointer<PQconninfoOption>
    ) -> [String: String] {
        var found: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                found[unsafe String(cString: keyword)] = unsafe String(cString: value)
            }
            unsafe option += 1
        }
        return found
    }
}
