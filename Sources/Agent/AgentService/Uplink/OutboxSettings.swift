import ConfigurationFiles
import Gate

/// What `agent.toml` says of the outbox, as the outbox itself needs it.
struct OutboxSettings: Sendable {
    /// The most bytes it holds where it drops its oldest; nil where a full one refuses.
    var dropsBeyond: Int64?
    /// Which classes are dropped last, the most important first.
    var keep: [ClassName]
    var durability: BoardSettings.Durability
    /// The file in memory that keeps sequences through a crash; see `VolatileWindow`.
    var volatileWindow: String

    init(_ outbox: BoardSettings.Outbox, volatileWindow: String) {
        dropsBeyond = outbox.whenFull == .dropOldest ? outbox.maxBytes.bytes : nil
        keep = outbox.keep
        durability = outbox.durability
        self.volatileWindow = volatileWindow
    }
}
