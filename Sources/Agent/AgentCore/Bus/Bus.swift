import Gate
import Sessions
import Wire

/// The agent's view of the board's own bus.
struct Bus: Sendable {
    private(set) var isConnected = false
    private(set) var isReading = true
    /// Whether messages stay with the bus's broker, because the session cannot be read.
    private(set) var isHolding = false
    /// When to publish the health topic.
    var health = HealthTimes()
    var refusals = Refusals()
    /// The local broker's counters for its own queue.
    private(set) var broker: BusBrokerMetrics?
    /// Whether the agent was away or did not read since the broker last reported its drops.
    private var hasRested = true
    /// How often drops were seen during such pauses.
    private var dropsSeen: Int64 = 0
    /// Whether the log has reported that reading stopped, and when it last did.
    private var isRestSaid = false
    private var restSaidAt: Duration?
    private var window: RedeliveryWindow
    /// The keys of accepted writes, and those from the disk that are not in it yet.
    private(set) var keys = WriteKeys()
    private var storedKeys: [KeptKey]
    /// A buffer that is reused for each message.
    private var digestInput: [UInt8] = []

    init(window: [DeliveredPacket], keys: [KeptKey]) {
        self.window = RedeliveryWindow(window)
        storedKeys = keys
    }

    mutating func connected() {
        isConnected = true
        health.restart()
    }

    mutating func lost() {
        isConnected = false
        hasRested = true
        window.restart()
    }

    /// Starts or stops reading.
    mutating func read(_ mayRead: Bool) {
        isReading = mayRead
        if !mayRead { hasRested = true }
    }

    mutating func hold(_ holds: Bool) {
        isHolding = holds
        hasRested = true
    }

    /// Whether to log that reading stopped or started. A small outbox on a slow uplink may fill
    /// many times a minute, so the log gets at most one entry a minute.
    mutating func logsReading(isFull: Bool, at now: Duration) -> Bool {
        if isReading {
            defer { isRestSaid = false }
            return isRestSaid
        }
        if isFull, let last = restSaidAt, now - last < .seconds(60) { return false }
        isRestSaid = true
        restSaidAt = now
        return true
    }

    /// Takes the broker's counters. Nil: this counter was not reported this time. Returns whether
    /// to log the drops: at rises 1, 2, 4, 8, … while the agent was away or did not read. A fall
    /// means that the broker has restarted.
    mutating func take(dropped: Int64?, stored: Int64?) -> Bool {
        var told = broker ?? BusBrokerMetrics()
        if let stored {
            // It changes with every message. It matters only while messages pile up there.
            if !isReading || broker == nil { health.changed() }
            told.stored = stored
        }
        var isLogged = false
        if let dropped {
            if dropped > told.dropped ?? 0, hasRested {
                dropsSeen += 1
                isLogged = dropsSeen & (dropsSeen - 1) == 0
            }
            if told.dropped != dropped { health.changed() }
            told.dropped = dropped
            hasRested = !isReading
        }
        broker = told
        return isLogged
    }
}

// Redeliveries: see `RedeliveryWindow`.
extension Bus {
    var hasWindow: Bool { !window.isEmpty }

    mutating func count() { window.count() }
    mutating func endRedeliveries() -> [Int64] { window.endRedeliveries() }

    /// The earlier acceptance of this packet; nil if it is new. It counts once.
    mutating func takeRedelivery(_ packetID: UInt16, _ digest: UInt128) -> DeliveredPacket? {
        window.take(packetID, digest)
    }

    mutating func remember(_ packet: DeliveredPacket) { window.remember(packet) }
    mutating func forgetWindow() { window = RedeliveryWindow([]) }

    /// A digest of everything that a redelivery repeats. A broker that lost its last minute in a
    /// power cut assigns the same packet ids again. Its own correlation data still distinguishes
    /// a new write from an old one.
    mutating func deliveryDigest(
        of message: BusMessage, with cryptography: any BoardCryptography
    ) -> UInt128? {
        guard message.packetID != nil else { return nil }
        digestInput.removeAll(keepingCapacity: true)
        digestInput.append(contentsOf: message.topic.utf8)
        digestInput.append(0)
        if let topic = message.responseTopic { digestInput.append(contentsOf: topic.utf8) }
        digestInput.append(0)
        if let correlation = message.correlation {
            digestInput.append(contentsOf: "\(correlation.count) ".utf8)
            digestInput.append(contentsOf: correlation)
        }
        digestInput.append(0)
        digestInput.append(contentsOf: message.payload)
        return half(with: cryptography)
    }

    /// The first 16 bytes of the digest of `digestInput`.
    private func half(with cryptography: any BoardCryptography) -> UInt128? {
        guard let digest = try? cryptography.digest(digestInput), digest.count >= 16 else {
            return nil
        }
        var first: UInt128 = 0
        for index in 0..<16 { first = first << 8 | UInt128(digest[index]) }
        return first
    }
}

// Repetitions by an app: see `WriteKeys`.
extension Bus {
    /// The digest of an app and the key that it gave. Nil: it gave none.
    mutating func keyDigest(
        of message: BusMessage, from app: AppName, with cryptography: any BoardCryptography
    ) -> UInt128? {
        guard case .key(let key) = message.key else { return nil }
        digestInput.removeAll(keepingCapacity: true)
        digestInput.append(contentsOf: app.description.utf8)
        guard let ofApp = half(with: cryptography) else { return nil }
        digestInput.append(0)
        digestInput.append(contentsOf: key.utf8)
        return half(with: cryptography).map { KeptKey.digest(ofApp: ofApp, ofKey: $0) }
    }

    mutating func remember(_ key: KeptKey, at now: Duration) {
        keys.remember(key, at: now)
    }

    /// Takes the keys from the disk, once.
    mutating func loadKeys(at now: Duration) {
        for key in storedKeys { remember(key, at: now) }
        storedKeys = []
    }

    mutating func forgetKeys() { keys = WriteKeys() }
}
