/// When a state of a board is an alert. `[alerts]` of `authority.toml` sets it.
package struct AlertRules: Equatable, Sendable {
    /// How long before its end a session is an alert, the longest first; each gives one message.
    package var ending: [Duration] = SessionOutlook.warningDays.sorted(by: >).map {
        .seconds($0 * 86_400)
    }
    /// How long a board was not heard.
    package var offlineAfter = Duration.seconds(15 * 60)
    /// How long a connected board sent no data.
    package var silentAfter = Duration.seconds(6 * 3600)
    /// The number of refused writes of one board within an hour.
    package var refusedPerHour: Int64 = 100
    /// The wait of the oldest message of a connected board.
    package var queueAfter = Duration.seconds(3600)
    /// The time in which the outbox of a connected board is full at its present rate.
    package var fullWithin = Duration.seconds(24 * 3600)

    package init() {}
}
