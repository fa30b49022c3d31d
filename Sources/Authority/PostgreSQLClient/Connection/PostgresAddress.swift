import CPostgreSQL
import LinuxIO
package import Sessions

/// Address, user and protection of the connection to the database.
///
/// A host that is neither a Unix socket nor loopback needs TLS with a verified server name, unless
/// `insecure` is set. GSS encryption is off, because libpq would silently prefer it to TLS.
package struct PostgresAddress: Sendable {
    /// The parameters for libpq, without the password. Each key once.
    private(set) var parameters: [String: String]
    let password: SecretBytes?
    /// Host and database, for the log.
    package let place: String
    /// Whether TLS was not required because the server is on this machine.
    let staysHere: Bool

    /// Reads libpq's URI, without contact to a server.
    ///
    /// Without a password libpq looks in `PGPASSFILE` or `~/.pgpass`. Throws
    /// `PostgresError.address` if the URI cannot be read or is not allowed. No text quotes the URI,
    /// which may hold a password by mistake.
    /// Source: PostgreSQL, 34.1.1 "Connection Strings" and 34.1.2 "Parameter Key Words".
    package init(
        uri: String, password: SecretBytes?, insecure: Bool = false
    ) throws(PostgresError) {
        var given = try ConnectionParameters.parse(uri)
        for name in ["password", "sslpassword"] where given[name] != nil {
            throw .address(
                "remove \(name) from the URI; use [postgres] password_file or PGPASSFILE")
        }
        guard given["service"] == nil else {
            throw .address("\"service\" is not supported: name host, user and database")
        }
        try Self.requirePlain(environment: Environment.value, hasHost: given["host"] != nil)
        let hasNUL = unsafe password?.withBytes { bytes in unsafe bytes.contains(0) }
        guard hasNUL != true else {
            throw .address("the password contains a NUL")
        }
        let usual = ConnectionParameters.defaults()
        // The environment may also name a host. Then the TLS rule applies to that host.
        for name in ["host", "hostaddr", "port", "sslrootcert"] where given[name] == nil {
            // A host from the URI and an address from the environment may be two different servers.
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

    /// Refuses environment variables that would change the server after the TLS rule was applied.
    /// libpq reads missing parameters from them: a service, or an address that replaces the URI's
    /// host.
    static func requirePlain(
        environment: (String) -> String?, hasHost: Bool
    ) throws(PostgresError) {
        for name in ["PGSERVICE", "PGSERVICEFILE"] + (hasHost ? ["PGHOSTADDR"] : [])
        where environment(name)?.isEmpty == false {
            throw .address("\(name) is set and would override `store`; unset it")
        }
    }

    /// Whether a server's IP address, as the connection reports it, belongs to this machine.
    static func isHere(_ number: String) -> Bool { isLocal(Substring(number)) }

    /// The same address with short time-outs: a lost connection is noticed within about 11 s.
    var impatient: PostgresAddress {
        var address = self
        address.parameters.merge([
            "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
            "tcp_user_timeout": "10000",
        ]) { _, ours in ours }
        return address
    }

    /// One address for each host, in their order. libpq's own list would not go on to the next host
    /// after one that does not answer. Source: PostgreSQL, 34.1.1.3 "Specifying Multiple Hosts".
    var hosts: [PostgresAddress] {
        func list(_ name: String) -> [Substring] {
            (parameters[name] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        }
        let count = max(list("host").count, list("hostaddr").count)
        let lists = ["host", "hostaddr", "port"].map { ($0, list($0)) }
        // If the lists have other lengths, libpq reports the error.
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
                "sslmode=\(mode.prefix(20)) does not protect against reading or impersonation: use "
                    + "verify-full for another machine, or [postgres] insecure = true")
        }
        given["sslmode"] = mode
        if given["sslrootcert"] == nil { given["sslrootcert"] = SystemTrust.place }
    }

    /// Whether all hosts are on this machine. An entry in `hostaddr` replaces the entry of `host`
    /// at the same position. No host means the Unix socket. Source: PostgreSQL, 34.1.1.3.
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

/// Tells libpq where to find the CA certificates that this machine trusts.
private enum SystemTrust {
    /// Nil leaves the choice to libpq, which reads `~/.postgresql/root.crt`.
    ///
    /// From version 16 libpq knows `sslrootcert=system`. Earlier versions need the name of the
    /// file.
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
