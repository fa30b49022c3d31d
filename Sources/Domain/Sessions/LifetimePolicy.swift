/// How long an authority's sessions and their tokens live.
package struct LifetimePolicy: Equatable, Sendable {
    /// The lifetime of an access token; at most an hour.
    package var access: Duration
    /// The lifetime of a session from its creation; nil: no limit.
    package var absolute: Duration?
    /// The longest time since the last authenticated request; nil: no limit.
    package var idle: Duration?

    package init(access: Duration, absolute: Duration?, idle: Duration?) {
        self.access = access
        self.absolute = absolute
        self.idle = idle
    }

    package static let shortest = Duration.seconds(5 * 60)
    package static let longest = Duration.seconds(365 * 86_400)

    /// The default: a board that is in use never needs a person.
    package static let device = Self(access: .seconds(3600), absolute: nil, idle: longest)
    package static let consumer = Self(
        access: .seconds(3600), absolute: .seconds(30 * 86_400), idle: .seconds(5 * 86_400))
    package static let highSecurity = Self(
        access: .seconds(300), absolute: .seconds(86_400), idle: .seconds(1800))
    package static let longLived = Self(
        access: .seconds(3600), absolute: .seconds(180 * 86_400), idle: nil)

    /// The preset with this name in the configuration, or nil.
    package init?(preset: String) {
        switch preset {
        case "device": self = .device
        case "consumer": self = .consumer
        case "high-security": self = .highSecurity
        case "long-lived": self = .longLived
        default: return nil
        }
    }
}
