import Gate
package import Sessions
package import Wire

/// A data message of a board as the broker delivered it.
package struct DataDelivery: Sendable {
    package let topic: String
    package let payload: [UInt8]
    package let isRetained: Bool
    /// The MQTT 5 user properties. MQTT 3.1.1 has none.
    package let properties: [(name: String, value: String)]

    package init(
        topic: String, payload: [UInt8], isRetained: Bool,
        properties: [(name: String, value: String)]
    ) {
        (self.topic, self.payload) = (topic, payload)
        (self.isRetained, self.properties) = (isRetained, properties)
    }
}

/// Why a message is acknowledged and not kept.
package enum UnkeptReason: String, Sendable, CaseIterable {
    /// The broker retained it, so it is not new, and boards never retain data.
    case retained
    /// It has no `seq`, because the board or the broker speaks only MQTT 3.1.1.
    case withoutSequence = "no-seq"
    /// A property is missing, doubled or has the wrong form, or the topic is not of the contract.
    case malformed
    /// It is older than `keep`.
    case old
    /// The board has no owner, or its owner released it: see `RecordOwners.owned`.
    case ownerless = "no-owner"
    /// Its board has `KeepCount.classLimit` other classes.
    case crowded = "classes"
}

/// A message as a record without its owner, or the reason why it is none.
package enum RecordReading: Equatable, Sendable {
    case record(DataRecord, session: ObjectID)
    case unkept(UnkeptReason)

    /// How far a board's clock may be ahead. The board's own clock is right to 50 ms once it has
    /// heard the authority, so a larger difference is an error.
    package static let tolerance = Duration.seconds(3600)

    /// Reads a message strictly. `keep` is the age that is kept.
    ///
    /// A `ts` more than `tolerance` in the future counts as the full hour of `now`. So a record
    /// that the broker delivers twice nearly always has the same time twice.
    package init(
        _ message: DataDelivery, under root: TopicRoot, keep: Duration, now: Timestamp
    ) {
        self = Self.read(message, root, keep, now)
    }

    private static func read(
        _ message: DataDelivery, _ root: TopicRoot, _ keep: Duration, _ now: Timestamp
    ) -> RecordReading {
        guard !message.isRetained else { return .unkept(.retained) }
        guard case .data(let board, let path, _)? = ContractTopic(message.topic, under: root) else {
            return .unkept(.malformed)
        }
        var values: [String: String] = [:]
        for (name, value) in message.properties where names.contains(name) {
            guard values.updateValue(value, forKey: name) == nil else { return .unkept(.malformed) }
        }
        guard let number = values["seq"] else { return .unkept(.withoutSequence) }
        guard let sequence = decimal(number), sequence > 0,
            let time = values["ts"].flatMap(decimal),
            let app = values["app"].flatMap({ AppName($0) }),
            let session = values["sid"].flatMap({ ObjectID($0) })
        else { return .unkept(.malformed) }
        var writtenAt = Timestamp(milliseconds: time)
        if writtenAt > now + tolerance {
            writtenAt = Timestamp(milliseconds: now.milliseconds / hour * hour)
        }
        guard writtenAt > now - keep else { return .unkept(.old) }
        return .record(
            DataRecord(
                board: board, sequence: sequence, path: path, app: app, writtenAt: writtenAt,
                receivedAt: now, payload: message.payload),
            session: session)
    }

    private static let names: Set = ["sid", "seq", "ts", "app"]
    private static let hour: Int64 = 3_600_000

    /// 1 to 18 digits without a leading zero, except `0` itself.
    private static func decimal(_ text: String) -> Int64? {
        let digits = text.utf8
        guard (1...18).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.first != 0x30 || digits.count == 1
        else { return nil }
        return Int64(text)
    }
}
