import Sessions
import Wire

/// Which rules of this board its authority has, and when to send them or ask for others.
///
/// With `[backup] configuration = true` the board sends the rules in force, and a board without
/// rules asks for those of the board that it replaced.
struct ConfigurationBackup: Sendable {
    /// A board whose rules change all the time sends them once in this time.
    static let pause = Duration.seconds(60)
    /// A board without rules asks once in this time, and after each connect, provisioning and
    /// update.
    static let interval = Duration.seconds(3600)

    /// In place of a digest: the authority may have rules.
    static let unconfirmed = [UInt8](repeating: 0, count: 32)

    /// The rules that the authority should have. None if the backup is off.
    private(set) var wanted: BoardConfiguration
    let isOn: Bool
    /// The digest of `wanted`. Nil: there are no rules, or the library failed.
    private var digest: [UInt8]?
    /// Whether no message can carry the rules. They are encoded once for that, at a change.
    private(set) var isTooLarge = false
    /// What the request in flight carries.
    private(set) var sent: (configuration: BoardConfiguration, digest: [UInt8]?)?
    private(set) var saveAt = Duration.zero
    private var askAt = Duration.zero

    /// `rules`: the rules in force. Nil if the backup is off.
    init(_ rules: BoardConfiguration?, _ cryptography: any BoardCryptography) {
        isOn = rules != nil
        wanted = .none
        change(to: rules ?? .none, cryptography)
    }

    mutating func change(
        to rules: BoardConfiguration, _ cryptography: any BoardCryptography
    ) {
        wanted = isOn ? rules : .none
        isTooLarge = !wanted.canBeSent
        digest = wanted.isEmpty || isTooLarge
            ? nil : try? cryptography.digest(JSONValue.object(wanted.members).bytes)
    }

    /// Whether the authority should get these rules. `told`: the digest of those that it has
    /// confirmed.
    ///
    /// A board whose rules are gone leaves the copy of the authority, which may be the last one.
    /// Turning the backup off deletes it.
    func isNews(after told: [UInt8]?) -> Bool {
        digest != told && !isTooLarge && (!isOn || !wanted.isEmpty)
    }

    /// Whether the board has no rules, so that others may be restored.
    func isEmpty(after told: [UInt8]?) -> Bool { isOn && wanted.isEmpty && told == nil }

    func mayAsk(at now: Duration) -> Bool { askAt <= now }

    mutating func saves(at now: Duration) {
        saveAt = now + Self.pause
        sent = (wanted, digest)
    }

    mutating func saveLater(at now: Duration) { saveAt = now + Self.interval }
    mutating func asks(at now: Duration) { askAt = now + Self.interval }
    mutating func askSoon() { askAt = .zero }

    /// The digest of the rules that the authority has confirmed now.
    mutating func saved() -> [UInt8]? {
        defer { sent = nil }
        return sent?.digest
    }
}

extension Agent {
    /// Sends the rules in force, if the authority has others. While the policy file is lost there
    /// is nothing to send: the authority's copy may be the last one.
    mutating func saveConfigurationIfDue(at instant: Instant) {
        guard let due = saveDeadline(at: instant), due <= instant.monotonic else { return }
        backup.saves(at: instant.monotonic)
        guard let id = freshID() else { return }
        // Durable before it is sent: if the answer is lost, the authority may still have a copy.
        if records.memory.toldConfiguration == nil {
            records.memory.toldConfiguration = ConfigurationBackup.unconfirmed
            emit(.commit([.memory(records.memory)]))
        }
        begin(id, .saveConfiguration, at: instant)
    }

    /// When to send the rules. Nil if the authority has them, or while nothing can be sent.
    func saveDeadline(at instant: Instant) -> Duration? {
        guard uplink.isReady, requests.isActive, records.session != nil, !isPolicyLost,
            !clock.isUnset(at: instant), !requests.isPending(.saveConfiguration),
            backup.isNews(after: records.memory.toldConfiguration)
        else { return nil }
        return backup.saveAt
    }

    /// Asks for the rules of the board that this one replaced, if it has none itself.
    mutating func askForConfiguration(at instant: Instant) {
        guard uplink.isReady, records.session != nil, !isPolicyLost,
            backup.isEmpty(after: records.memory.toldConfiguration),
            backup.mayAsk(at: instant.monotonic), !clock.isUnset(at: instant),
            !requests.isPending(.getConfiguration), let id = freshID()
        else { return }
        backup.asks(at: instant.monotonic)
        begin(id, .getConfiguration, at: instant)
    }

    /// Gives the rules of the replaced board to the loop, which checks and keeps them.
    func restored(by result: Reply.Result) -> BoardConfiguration? {
        guard let rules = result.configuration, !rules.isEmpty, !isPolicyLost,
            backup.isEmpty(after: records.memory.toldConfiguration)
        else { return nil }
        return rules
    }

    /// A new owner's authority has none of this board's rules.
    mutating func forgetToldConfiguration() {
        backup.askSoon()
        // If the board has none either, its authority may still keep those of before.
        if !backup.wanted.isEmpty { records.memory.toldConfiguration = nil }
    }

    /// In force are other rules now.
    mutating func backUp(_ rules: BoardConfiguration) {
        guard backup.isOn else { return }
        backup.change(to: rules, cryptography)
        logBackup()
    }

    mutating func logBackup() {
        guard backup.isTooLarge else { return }
        emit(.log(.warning, "the policy and the routes are not sent to the authority: together "
            + "they have more than \(BoardConfiguration.sizeLimit) bytes as JSON, or a control "
            + "character"))
    }

    /// What became of the rules, for `status`.
    var backupReport: JSONValue {
        let isNews = backup.isNews(after: records.memory.toldConfiguration)
        guard backup.isOn else {
            return .string(isNews ? "off; the copy is not deleted yet" : "off")
        }
        if backup.isTooLarge { return .string("too large") }
        if isNews { return .string("not sent yet") }
        return .string(backup.wanted.isEmpty ? "no rules" : "sent")
    }
}
