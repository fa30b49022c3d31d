import CPostgreSQL
import LinuxIO
package import Sessions

/// Where the database is, who asks, and how the way there is protected.
///
/// A host that is neither a Unix socket nor loopback is reached over TLS with the server's name
/// verified, or not at all, unless `insecure` says otherwise. GSS encryption, which libpq would
/// prefer to TLS without a word, is off.
package struct PostgresAddress: Sendable {
    /// What libpq is told, the password apart. Keys once each.
    private(set) var parameters: [String: String]
    let password: SecretBytes?
    /// Host and database, for a log.
    package let place: String
    /// Whether the rule for TLS was waived because the server is on this machine.
    let staysHere: Bool

    /// Reads libpq's URI; asks no server.
    ///
    /// Without a password libpq looks in `PGPASSFILE` or `~/.pgpass`. Throws
    /// `PostgresError.address` for what cannot be read or may not be; no text quotes the URI,
    /// which may hold a password by mistake.
    /// Source: PostgreSQL, 34.1.1 "Connection Strings" and 34.1.2 "Parameter Key Words".
    package init(
        uri: String, password: SecretBytes?, insecure: Bool = false
    ) throws(PostgresError) {
        var given = try ConnectionParameters.parse(uri)
        for name in ["password", "sslpassword"] where given[name] != nil {
            throw .address("no \(name) in the URI: [postgres] password_file, or PGPASSFILE")
        }
        guard given["service"] == nil else {
            throw .address("\"service\" is not supported: name host, user and database")
        }
        try Self.requirePlain(environment: Environment.value, hasHost: given["host"] != nil)
        let hasNUL = unsafe password?.withBytes { bytes in unsafe bytes.contains(0) }
        guard hasNUL != true else {
            throw .address("the password has a NUL in it")
        }
        let usual = ConnectionParameters.defaults()
        // The environment may name a host too; then the rule for TLS is for that one.
        for name in ["host", "hostaddr", "port", "sslrootcert"] where given[name] == nil {
            // A host of the URI and an address of the environment are not of one server.
            guard name != "hostaddr" || given["host"] == nil else { continue }
            given[name] = usual[name]
        }
        let isLocal = Self.isLocal(hosts: given["host"] ?? "", addresses: given["hostaddr"] ?? "")
        try Self.protect(&given, isLocal: isLocal, insecure: insecure)
        staysHere = isLocal && !insecure
        let fixed = [
            "application_name": "postern-authority", "client_encoding": "UTF8",
            "target_session_attrs": "read-write", "keepalives": "1", "keepalives_idle": "30",
            "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "20000",
        ]
        parameters = given.merging(fixed) { own, standard in own.isEmpty ? standard : own }
            .merging(["client_encoding": "UTF8"]) { _, standard in standard }
        self.password = password
        place = "\(given["host"] ?? given["hostaddr"] ?? "local")/\(given["dbname"] ?? "")"
    }

    /// libpq fills in from the environment what it is not told, after the rule for TLS was
    /// applied: a service, or an address that goes before the URI's host.
    static func requirePlain(
        environment: (String) -> String?, hasHost: Bool
    ) throws(PostgresError) {
        for name in ["PGSERVICE", "PGSERVICEFILE"] + (hasHost ? ["PGHOSTADDR"] : [])
        where environment(name)?.isEmpty == false {
            throw .address("\(name) is set and would lead elsewhere than `store` says; unset it")
        }
    }

    /// Whether a server's address, as the connection shows it, is this machine's.
    static func isHere(_ number: String) -> Bool { isLocal(Substring(number)) }

    /// The same, for a connection whose end must be known soon: within about 11 s.
    var impatient: PostgresAddress {
        var address = self
        address.parameters.merge([
            "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
            "tcp_user_timeout": "10000",
        ]) { _, ours in ours }
        return address
    }

    /// One for each host that is named, in their order: libpq's own list would not go on to the
    /// next after one that says nothing. Source: PostgreSQL, 34.1.1.3 "Specifying Multiple Hosts".
    var hosts: [PostgresAddress] {
        func list(_ name: String) -> [Substring] {
            (parameters[name] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        }
        let count = max(list("host").count, list("hostaddr").count)
        let lists = ["host", "hostaddr", "port"].map { ($0, list($0)) }
        // libpq says what is wrong with lists of other lengths.
        guard count > 1, lists.allSatisfy({ $0.1.count == 1 || $0.1.count == count }) else {
            return [self]
        }
        return (0..<count).map { index in
            var one = self
            for (name, values) in lists where values.count == count {
                one.parameters[name] = String(values[index])
            }
            return one
        }
    }

    private static func protect(
        _ given: inout [String: String], isLocal: Bool, insecure: Bool
    ) throws(PostgresError) {
        if given["channel_binding"] == nil { given["channel_binding"] = "prefer" }
        guard !insecure else { return }
        given["gssencmode"] = "disable"
        guard !isLocal else { return }
        let mode = given["sslmode"] ?? "verify-full"
        guard mode == "verify-full" else {
            throw .address(
                "sslmode=\(mode.prefix(20)) lets others on the way listen or pose as the server: "
                    + "verify-full off this machine, or [postgres] insecure = true")
        }
        given["sslmode"] = mode
        if given["sslrootcert"] == nil { given["sslrootcert"] = SystemTrust.place }
    }

    /// Whether none of the hosts is off this machine. `hostaddr` goes before `host`, place by
    /// place; no host at all is the Unix socket. Source: PostgreSQL, 34.1.1.3.
    static func isLocal(hosts: String, addresses: String) -> Bool {
        let names = hosts.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = addresses.split(separator: ",", omittingEmptySubsequences: false)
        return (0..<max(names.count, numbers.count)).allSatisfy { index in
            let number = numbers.indices.contains(index) ? numbers[index] : ""
            let name = names.indices.contains(index) ? names[index] : ""
            return isLocal(number.isEmpty ? name : number)
        }
    }

    private static func isLocal(_ host: Substring) -> Bool {
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
        if host == "localhost" || host == "::1" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { octet in
            octet.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(octet) != nil
        }
    }
}

/// Where the certificates stand that this machine trusts.
private enum SystemTrust {
    /// Nil leaves it to libpq, which looks into `~/.postgresql/root.crt`.
    ///
    /// libpq 16 knows `sslrootcert=system`; before, it must be told the file.
    static var place: String? {
        if let home = Environment.value("HOME"), isFile("\(home)\(own)") { return nil }
        if PQlibVersion() >= 160_000 { return "system" }
        return files.first(where: isFile)
    }

    private static let own = "/.postgresql/root.crt"

    private static let files = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ]

    private static func isFile(_ path: String) -> Bool {
        do throws(FileFailure) {
            _ = try InputFile(path)
            return true
        } catch {
            return false
        }
    }
}
