import Sessions

/// Reads and checks the times under `[session]` of `authority.toml`.
enum SessionTimes {
    private static let longestAccess = Duration.seconds(3600)
    private static let usualOffline = Duration.seconds(7 * 86_400)

    /// Reads the preset. Single values override the values of the preset.
    static func lifetimes(
        _ section: TOMLSection, heartbeat: Duration
    ) throws(SettingsError) -> LifetimePolicy {
        var policy = try section.value("preset", preset) ?? .device
        if let access = try section.value("access", SettingValue.span) {
            guard access >= .seconds(1), access <= longestAccess else {
                throw section.fault("access", "an access token is valid for 1 second to 1 hour")
            }
            policy.access = access
        }
        if try section.text("absolute") == "never" {
            policy.absolute = nil
        } else if let absolute = try section.value("absolute", SettingValue.span) {
            guard absolute >= LifetimePolicy.shortest, absolute <= LifetimePolicy.longest else {
                throw section.fault(
                    "absolute", "must be from 5 minutes to 1 year, or \"never\"")
            }
            policy.absolute = absolute
        }
        if try section.text("idle") == "never" {
            policy.idle = nil
        } else if let idle = try section.value("idle", SettingValue.span) {
            policy.idle = idle
        }
        if let idle = policy.idle, idle <= heartbeat {
            throw section.fault("idle", "must be longer than the heartbeat, or \"never\"")
        }
        return policy
    }

    /// Reads the heartbeat: whole seconds, at most a day.
    static func heartbeat(_ section: TOMLSection) throws(SettingsError) -> Duration {
        let span = try section.value("heartbeat", SettingValue.span) ?? .seconds(180)
        guard span.milliseconds % 1000 == 0, span <= .seconds(86_400) else {
            throw section.fault("heartbeat", "must be whole seconds, and at most a day")
        }
        return span
    }

    /// Reads `offline`. Default: as long as the session lasts with the preset `device`, else one
    /// week; never longer than a session lasts.
    static func offline(
        _ section: TOMLSection, absolute: Duration?
    ) throws(SettingsError) -> Duration {
        guard let span = try section.value("offline", SettingValue.span) else {
            let isDevice = try section.value("preset", preset) ?? .device == .device
            let usual = isDevice ? LifetimePolicy.longest : usualOffline
            return min(usual, absolute ?? usual)
        }
        guard span.milliseconds % 1000 == 0, span <= absolute ?? span else {
            throw section.fault("offline", "must be whole seconds, no longer than a session lasts")
        }
        return span
    }

    private static func preset(_ text: String) throws(SettingFault) -> LifetimePolicy {
        guard let policy = LifetimePolicy(preset: text) else {
            throw SettingFault("""
                "\(text)" is not one of "device", "consumer", "high-security", "long-lived"
                """)
        }
        return policy
    }
}
