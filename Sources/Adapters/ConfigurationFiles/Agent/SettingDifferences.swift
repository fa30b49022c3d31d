import Wire

extension BoardSettings {
    /// The keys whose values differ from `other`, without routes, in the file's order.
    /// `bus.insecure` is not among them: only the reader of the file needs it.
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
            ("bus.ca_file", bus.caFile == other.bus.caFile),
            ("bus.certificate_file",
             bus.identity?.certificateFile == other.bus.identity?.certificateFile),
            ("bus.key_file", bus.identity?.keyFile == other.bus.identity?.keyFile),
            ("uplink.uri", uplink.uri == other.uplink.uri),
            ("uplink.ca_file", uplink.caFile == other.uplink.caFile),
            ("uplink.certificate_file",
             uplink.identity?.certificateFile == other.uplink.identity?.certificateFile),
            ("uplink.key_file", uplink.identity?.keyFile == other.uplink.identity?.keyFile),
            ("uplink.insecure", uplink.insecure == other.uplink.insecure),
            ("uplink.spread", uplink.spread == other.uplink.spread),
            ("claim.base", claim.base == other.claim.base),
            ("claim.expires", claim.expires == other.claim.expires),
            ("claim.ca_file", claim.caFile == other.claim.caFile),
            ("session.offline", offline == other.offline),
            ("outbox.max_bytes", outbox.maxBytes == other.outbox.maxBytes),
            ("outbox.max_age", outbox.maxAge == other.outbox.maxAge),
            ("outbox.when_full", outbox.whenFull == other.outbox.whenFull),
            ("outbox.keep", outbox.keep == other.outbox.keep),
            ("outbox.durability", outbox.durability == other.outbox.durability),
            ("key.source", key.source == other.key.source),
            ("key.tpm", key.tpm == other.key.tpm),
            ("metrics.listen", metrics == other.metrics),
            ("backup.configuration", backsUpConfiguration == other.backsUpConfiguration),
            ("home_assistant.discovery",
             discovery?.isAnnounced == other.discovery?.isAnnounced),
            ("home_assistant.prefix",
             discovery == nil || other.discovery == nil
                || discovery?.prefix == other.discovery?.prefix),
        ]
        return pairs.filter { !$0.1 }.map(\.0)
    }
}

extension BoardSettings.Discovery {
    fileprivate var isAnnounced: Bool {
        if case .announced = self { true } else { false }
    }

    fileprivate var prefix: TopicRoot {
        switch self {
        case .announced(let prefix), .withdrawn(let prefix): prefix
        }
    }
}
