/// The keys that a configuration file may have. Any other key is an error.
package struct KnownKeys: Sendable {
    /// Each key after its tables, such as `["bus", "uri"]`; `*` is a table of any name.
    package let paths: [[String]]

    /// Reads dotted paths that are separated by white space.
    private init(_ text: String) {
        paths = text.split(whereSeparator: \.isWhitespace).map { path in
            path.split(separator: ".").map { String($0) }
        }
    }

    /// The known keys of one table. An empty list: the table may have any keys.
    func keys(in table: [String]) -> [String] {
        var keys: [String] = []
        for path in paths where path.count > table.count {
            let key = path[table.count]
            let isThere = zip(path, table).allSatisfy { $0 == "*" || $0 == $1 }
            if isThere, !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}

extension KnownKeys {
    package static let agent = KnownKeys("""
        name state_dir run_dir topic_root log_level log_format
        bus.uri bus.username bus.password_file bus.ca_file bus.certificate_file bus.key_file
        bus.insecure
        uplink.uri uplink.ca_file uplink.certificate_file uplink.key_file uplink.insecure
        uplink.spread
        claim.base claim.expires claim.ca_file
        session.offline
        outbox.max_bytes outbox.max_age outbox.when_full outbox.keep outbox.durability
        key.source key.tpm
        metrics.listen
        home_assistant.discovery home_assistant.prefix
        backup.configuration
        route.from route.app route.class route.op route.object_id route.to
        """)

    static let routes = KnownKeys("""
        route.from route.app route.class route.op route.object_id route.to
        """)

    package static let policy = KnownKeys("""
        default
        app.*.rate app.*.burst app.*.max_bytes
        app.*.commands app.*.command_fields app.*.command_rate
        rule.app rule.class rule.allow rule.fields rule.max_bytes rule.rate rule.burst
        """)

    package static let authority = KnownKeys("""
        name state_dir topic_root store master_key_file log_level log_format
        postgres.password_file postgres.connections postgres.insecure
        http.listen http.public_url http.app_id http.console http.proxies
        http.certificate_file http.key_file http.client_ca_file http.insecure
        http.mount http.rest_api_key http.rest_api_key_file http.master_key_file
        http.master_key_from http.origins
        broker.mode broker.listen broker.access broker.uri broker.username
        broker.password_file broker.ca_file broker.certificate_file broker.key_file
        broker.client_ca_file broker.advertise broker.insecure broker.access_secret_file
        broker.vhost
        session.preset session.access session.absolute session.idle session.heartbeat
        session.offline session.spread
        session.permissions.find session.permissions.get session.permissions.create
        session.permissions.update session.permissions.delete session.permissions.addField
        data.keep data.max_bytes commands.rate home_assistant.discovery home_assistant.prefix
        claim.expires users.sign_up console.live tls.own tls.hosts metrics.listen
        login.passwords login.*.issuer login.*.audience login.*.keys login.*.sign_up
        login.*.client_id login.*.client_secret_file login.*.title
        login.*.authorization_endpoint login.*.token_endpoint
        alerts.ending alerts.offline_after alerts.silent_after alerts.refused_per_hour
        alerts.queue_after alerts.full_within alerts.webhook alerts.webhook_secret_file alerts.ntfy
        alerts.ntfy_token_file alerts.smtp alerts.smtp_username alerts.smtp_password_file
        alerts.email_from alerts.email_to alerts.push alerts.push_services alerts.ca_file
        alerts.insecure
        """)

    static let cases = KnownKeys("""
        case.name case.app case.op case.class case.topic case.payload case.payload_file
        case.expect case.rule case.code case.field
        """)
}
