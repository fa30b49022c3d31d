import CSocketBuffer
import Glibc
import MQTT
import Testing
import Wire

/// A packet of MQTT 5 with a name, or the head of one.
struct SentPacket: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: [UInt8]

    init(_ name: String, _ bytes: [UInt8]) {
        (testDescription, self.bytes) = (name, bytes)
    }

    /// What a broker may send.
    static let wellFormed = [
        SentPacket("CONNACK", [0x20, 3, 0, 0, 0]),
        SentPacket("CONNACK of a broker of 3.1.1", [0x20, 2, 0, 1]),
        SentPacket("CONNACK with limits", [
            0x20, 16, 1, 0, 13, 0x21, 0, 20, 0x27, 0, 1, 0, 0, 0x24, 1, 0x13, 0, 60,
        ]),
        SentPacket("CONNACK with texts", [
            0x20, 17, 0, 0, 14, 0x1F, 0, 1, 97, 0x26, 0, 1, 97, 0, 0, 0x12, 0, 1, 98,
        ]),
        SentPacket("PUBLISH of QoS 0", [0x30, 4, 0, 1, 97, 0]),
        SentPacket("PUBLISH of QoS 1", [0x3B, 9, 0, 1, 97, 0, 1, 0, 1, 2, 3]),
        SentPacket("PUBLISH with properties", [
            0x32, 27, 0, 1, 97, 0, 1, 21, 1, 1, 2, 0, 0, 0, 9, 0x0B, 0x81, 1, 0x0B, 2,
            9, 0, 1, 7, 0x26, 0, 0, 0, 0,
        ]),
        SentPacket("PUBACK", [0x40, 2, 0, 1]),
        SentPacket("PUBACK with a code", [0x40, 3, 0, 1, 0x10]),
        SentPacket("PUBACK with a reason", [0x40, 8, 0, 1, 0x87, 4, 0x1F, 0, 1, 97]),
        SentPacket("PUBREC, PUBREL, PUBCOMP", [0x50, 2, 0, 1, 0x62, 2, 0, 1, 0x70, 2, 0, 1]),
        SentPacket("SUBACK", [0x90, 5, 0, 1, 0, 1, 0x87]),
        SentPacket("UNSUBACK", [0xB0, 4, 0, 1, 0, 0]),
        SentPacket("PINGRESP", [0xD0, 0]),
        SentPacket("DISCONNECT", [0xE0, 0]),
        SentPacket("DISCONNECT with a reason", [0xE0, 6, 0x8B, 4, 0x1F, 0, 1, 97]),
    ]

    static let malformed = [
        SentPacket("a type of clients", [0x10, 0]), SentPacket("SUBSCRIBE", [0x82, 2, 0, 1]),
        SentPacket("AUTH, which nobody began", [0xF0, 0]), SentPacket("type 0", [0x00, 0]),
        SentPacket("flags of PUBACK", [0x41, 2, 0, 1]), SentPacket("QoS 3", [0x36, 3, 0, 0, 0]),
        SentPacket("flags of PUBREL", [0x60, 2, 0, 1]), SentPacket("PINGRESP's body", [0xD0, 1, 0]),
        SentPacket("QoS 0, repeated", [0x38, 3, 0, 0, 0]),
        SentPacket("a length of five bytes", [0x30, 0x80, 0x80, 0x80, 0x80, 1]),
        SentPacket("a length longer than need be", [0x30, 0x83, 0x00, 0, 1, 97]),
        SentPacket("more than a packet may have", [0x30, 0x81, 0x80, 0x40]),
        SentPacket("CONNACK of one byte", [0x20, 1, 0]),
        SentPacket("CONNACK's flags", [0x20, 3, 2, 0, 0]),
        SentPacket("bytes behind CONNACK", [0x20, 4, 0, 0, 0, 0]),
        SentPacket("a topic longer than its packet", [0x30, 4, 0, 3, 97, 0]),
        SentPacket("no properties in PUBLISH", [0x30, 3, 0, 1, 97, 0x30]),
        SentPacket("packet id 0", [0x40, 2, 0, 0]), SentPacket("half a packet id", [0x40, 1, 0]),
        SentPacket("properties longer than their packet", [0x20, 3, 0, 0, 1]),
        SentPacket("a number cut off", [0x20, 5, 0, 0, 2, 0x21, 0]),
        SentPacket("a text cut off", [0x20, 6, 0, 0, 3, 0x1F, 0, 1]),
        SentPacket("half a user property", [0x20, 7, 0, 0, 4, 0x26, 0, 1, 97]),
        SentPacket("receive maximum 0", [0x20, 6, 0, 0, 3, 0x21, 0, 0]),
        SentPacket("maximum packet size 0", [0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 0]),
        SentPacket("topic alias 0", [0x30, 6, 0, 0, 3, 0x23, 0, 0]),
        SentPacket("subscription identifier 0", [0x30, 5, 0, 0, 2, 0x0B, 0]),
        SentPacket("a truth of 2", [0x20, 5, 0, 0, 2, 0x24, 2]),
        SentPacket("one property twice", [0x20, 7, 0, 0, 4, 0x24, 1, 0x24, 1]),
        SentPacket("SUBACK without codes", [0x90, 3, 0, 1, 0]),
        SentPacket("UNSUBACK without codes", [0xB0, 3, 0, 1, 0]),
        SentPacket("bytes behind PUBACK", [0x40, 5, 0, 1, 0, 0, 0]),
        SentPacket("CONNACK of 7 bytes, a will's delay in it", [
            0x20, 8, 0, 0, 5, 0x18, 0, 0, 0, 1,
        ]),
    ]

    /// Each property in each packet where it may not stand. Source: MQTT 5 §2.2.2.2.
    static let misplaced = heads.flatMap { head in
        (0...0x2B).filter { !head.allowed.contains(UInt8($0)) }.map { id in
            SentPacket("property \(id) in \(head.name)", head.start + [UInt8(id)])
        }
    }

    private static let heads: [(name: String, start: [UInt8], allowed: Set<UInt8>)] = [
        ("CONNACK", [0x20, 40, 0, 0, 37], [
            0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27,
            0x28, 0x29, 0x2A,
        ]),
        ("PUBLISH", [0x30, 40, 0, 0, 37], [1, 2, 3, 8, 9, 0x0B, 0x23, 0x26]),
        ("PUBACK", [0x40, 40, 0, 1, 0, 36], [0x1F, 0x26]),
        ("PUBREC", [0x50, 40, 0, 1, 0, 36], [0x1F, 0x26]),
        ("PUBREL", [0x62, 40, 0, 1, 0, 36], [0x1F, 0x26]),
        ("PUBCOMP", [0x70, 40, 0, 1, 0, 36], [0x1F, 0x26]),
        ("SUBACK", [0x90, 40, 0, 1, 36], [0x1F, 0x26]),
        ("UNSUBACK", [0xB0, 40, 0, 1, 36], [0x1F, 0x26]),
        ("DISCONNECT", [0xE0, 40, 0, 38], [0x11, 0x1C, 0x1F, 0x26]),
    ]
}

@Suite("Packet guard")
struct PacketGuardTests {
    private struct NoGuard: Error {}

    /// Whether all of it is let through, in pieces of `size` bytes.
    private func accepts(_ bytes: [UInt8], by size: Int, isV5: Bool = true) throws -> Bool {
        var ends: [Int32] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { ends.forEach { close($0) } }
        guard let raw = unsafe packet_guard_new(ends[0], false, isV5, 1 << 20) else {
            throw NoGuard()
        }
        defer { unsafe packet_guard_free(raw) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = Array(bytes[start..<min(start + size, bytes.count)])
            let isFine = unsafe packet_guard_accepts(raw, part, part.count)
            guard isFine else { return false }
        }
        return true
    }

    @Test("lets through what a broker may send, in whatever pieces it comes",
          arguments: SentPacket.wellFormed)
    func wellFormed(packet: SentPacket) throws {
        for size in [1, 2, 3, 7, packet.bytes.count] {
            // Two of them: where one ends the other begins.
            #expect(try accepts(packet.bytes + packet.bytes, by: size), "\(size)")
        }
    }

    @Test("refuses what none may send, in whatever pieces it comes",
          arguments: SentPacket.malformed + SentPacket.misplaced)
    func malformed(packet: SentPacket) throws {
        for size in [1, 2, 3, 7, packet.bytes.count] {
            #expect(try !accepts(packet.bytes, by: size), "\(size)")
        }
    }

    @Test("knows that 3.1.1 has no properties and no DISCONNECT of a broker")
    func version311() throws {
        for bytes: [UInt8] in [
            [0x20, 2, 0, 0], [0x30, 5, 0, 1, 97, 1, 2], [0x32, 5, 0, 1, 97, 0, 1],
            [0x40, 2, 0, 1], [0x90, 3, 0, 1, 0x80], [0xB0, 2, 0, 1], [0xD0, 0],
        ] { #expect(try accepts(bytes, by: 1, isV5: false), "\(bytes)") }
        for bytes: [UInt8] in [
            [0x20, 3, 0, 0, 0], [0x40, 3, 0, 1, 0], [0xB0, 3, 0, 1, 0], [0x90, 2, 0, 1], [0xE0, 0],
        ] { #expect(try !accepts(bytes, by: 1, isV5: false), "\(bytes)") }
    }

    @Test("ends the connection by name, and libmosquitto sees nothing of it",
          arguments: SentPacket.malformed)
    func connection(packet: SentPacket) async throws {
        let broker = try FakeBroker { _ in packet.bytes + [UInt8](repeating: 0, count: 16) }
        let options = ConnectOptions(
            uri: try BrokerURI("mqtt://127.0.0.1:\(broker.port)"), clientID: "guarded",
            maximumPacketSize: 1 << 20)
        var connection = try Connection(options)
        try connection.connect()
        let end = ContinuousClock.now + .seconds(20)
        var ended: ConnectionEvent?
        while ended == nil, ContinuousClock.now < end {
            try? connection.write()
            try? connection.read(atMost: 16)
            ended = connection.takeEvents().first { $0.failure != nil }
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(ended?.failure
            == .mqtt("the broker sent a malformed packet", reasonCode: 0x81))
    }
}
