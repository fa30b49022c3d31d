import ConfigurationFiles
import Gate

/// The outbox settings of `agent.toml`, as the outbox needs them.
struct OutboxSettings: Sendable {
    /// The limit in bytes beyond which the oldest writes are dropped; nil if a full outbox
    /// refuses.
    var dropsBeyond: Int64?
    /// The classes that are dropped last, the most important first.
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
