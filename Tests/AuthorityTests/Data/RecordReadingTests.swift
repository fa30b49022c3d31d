import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

/// A data message of a board, as the authority reads it.
@Suite("A record's reading")
struct RecordReadingTests {
    private static let now = Timestamp(milliseconds: 1_795_569_333_222)
    private static let whole = [
        ("sid", "OKBCVLtX7h"), ("seq", "1041"), ("ts", "1795569333000"), ("app", "thermo"),
    ]

    private func read(
        _ properties: [(String, String)] = whole, topic: String = "Reading/create",
        isRetained: Bool = false, keep: Duration = .seconds(86_400), now: Timestamp = now
    ) throws -> RecordReading {
        let iid = InstallationID(random: [UInt8](repeating: 7, count: 16))
        return RecordReading(
            DataDelivery(
                topic: "postern/v1/\(iid)/data/\(topic)", payload: [0x31], isRetained: isRetained,
                properties: properties),
            under: .standard, keep: keep, now: now)
    }

    private func kept(_ reading: RecordReading) -> DataRecord? {
        guard case .record(let record, _) = reading else { return nil }
        return record
    }

    @Test("takes the properties of the contract")
    func whole() throws {
        guard case .record(let record, let session) = try read() else {
            Issue.record("not read")
            return
        }
        #expect(session.description == "OKBCVLtX7h")
        #expect(record.sequence == 1041 && record.app.description == "thermo")
        #expect(record.writtenAt.milliseconds == 1_795_569_333_000)
        #expect(record.receivedAt == Self.now && record.payload == [0x31])
        #expect(record.path.className.description == "Reading" && record.path.record == nil)
        #expect(try kept(read(Self.whole + [("x", "y"), ("x", "z")])) == record)
    }

    @Test("keeps the object id of an update, and ignores the levels of a route", arguments: [
        "Valve/update/v1", "Valve/update/v1/more/levels",
    ])
    func update(topic: String) throws {
        let path = try #require(kept(read(topic: topic))).path
        #expect(path.operation == .update && path.record?.description == "v1")
    }

    @Test("refuses what is missing, doubled or misspelt", arguments: [
        ("seq", "0"), ("seq", "-1"), ("seq", "+1"), ("seq", "01"), ("seq", "1.0"), ("seq", ""),
        ("seq", "1234567890123456789"), ("seq", "１"), ("ts", "soon"), ("ts", "-5"), ("ts", ""),
        ("sid", "short"), ("sid", ""), ("app", "Upper"), ("app", ""), ("app", "a/b"),
    ])
    func malformed(name: String, value: String) throws {
        let others = Self.whole.filter { $0.0 != name }
        #expect(try read(others + [(name, value)]) == .unkept(.malformed))
        #expect(try read(Self.whole + [(name, value)]) == .unkept(.malformed))
        let missing: UnkeptReason = name == "seq" ? .withoutSequence : .malformed
        #expect(try read(others) == .unkept(missing))
    }

    @Test("knows a message of MQTT 3.1.1, a retained one and a foreign topic")
    func others() throws {
        #expect(try read([]) == .unkept(.withoutSequence))
        #expect(try read(isRetained: true) == .unkept(.retained))
        #expect(try read(topic: "_User/create/x/y/z") != .unkept(.retained))
        #expect(try read(topic: "Reading") == .unkept(.malformed))
    }

    @Test("leaves out what is older than the authority keeps")
    func old() throws {
        let ago = { (span: Duration) in
            Self.whole.map { $0.0 == "ts" ? ("ts", "\((Self.now - span).milliseconds)") : $0 }
        }
        #expect(try kept(read(ago(.seconds(86_399)))) != nil)
        #expect(try read(ago(.seconds(86_400))) == .unkept(.old))
        #expect(try read(ago(.seconds(1_795_569_333))) == .unkept(.old))
    }

    @Test("believes a clock that is an hour ahead, and no more", arguments: [
        (3_600_000, nil), (3_600_001, 1_795_568_400_000), (999_999_999_999_999, 1_795_568_400_000),
    ] as [(Int64, Int64?)])
    func future(ahead: Int64, counted: Int64?) throws {
        let time = Self.now.milliseconds + ahead
        let properties = Self.whole.map { $0.0 == "ts" ? ("ts", "\(time)") : $0 }
        let first = try #require(kept(read(properties)))
        #expect(first.writtenAt.milliseconds == counted ?? time)
        // The broker delivers it again some minutes later.
        let again = try #require(kept(read(properties, now: Self.now + .seconds(600))))
        #expect(ahead == 3_600_001 || again.writtenAt == first.writtenAt)
    }
}
