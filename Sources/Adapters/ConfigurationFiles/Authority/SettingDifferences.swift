extension BoardSettings {
    /// The keys whose values differ from `other`, without routes, in the file's order.
    package func keysUnlike(_ other: BoardSettings) -> [String] {
        let pairs: [(String, Bool)] = [
            ("name", name == other.name),
            ("state_dir", stateDir == other.stateDir),
            ("run_dir", runDir == other.runDir),
            ("topic_root", topicRoot == other.topicRoot),
            ("log_level", logLevel == other.logLevel),
            ("log_format", logFormat == other.logFormat),
            ("bus.uri", bus.uri == other.bus.uri),
            ("bus.username", bus.username == other.bus.username),
            ("bus.password_file", bus.passwordFile == other.bus.passwordFile),
            ("uplink.uri", uplink.uri == other.uplink.uri),
            ("uplink.ca_file", uplink.caFile == other.uplink.caFile),
            ("uplink.insecure", uplink.insecure == other.uplink.insecure),
            ("uplink.spread", uplink.spread == other.uplink.spread),
            ("claim.base", claim.base == other.claim.base),
            ("claim.expires", claim.expires == other.claim.expires),
            ("session.offline", offline == other.offline),
            ("outbox.max_bytes", outbox.maxBytes == other.outbox.maxBytes),
            ("outbox.max_age", outbox.maxAge == other.outbox.maxAge),
            ("outbox.when_full", outbox.whenFull == other.outbox.whenFull),
            ("outbox.keep", outbox.keep == other.outbox.keep),
            ("outbox.durability", outbox.durability == other.outbox.durability),
            ("metrics.listen", metrics == other.metrics),
            ("home_assistant", discovery == other.discovery),
        ]
        let keys = pairs.filter { !$0.1 }.map(\.0)
        var rest = self
        rest.routes = other.routes
        // Reports a difference even if the list above lacks its key.
        return keys.isEmpty && rest != other ? ["a setting"] : keys
    }
}
