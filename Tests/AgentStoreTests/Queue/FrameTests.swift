import AgentCore
@testable import AgentStore
import Gate
import Sessions
import Testing

@Suite("Frame")
struct FrameTests {
    private static func body(_ writes: [AcceptedWrite]) throws -> FrameBody {
        let first = try #require(writes.first)
        var body = FrameBody(session: first.session, user: first.user)
        for write in writes {
            let isTaken = body.append(write)
            #expect(isTaken)
        }
        body.close { bytes in
            var live = SequenceSet(3...9)
            live.insert(40...50)
            QueueMarks(live: live, last: 77).encode(into: &bytes)
            WindowCoding.encode(Sample.packets(70...77), into: &bytes)
        }
        return body
    }

    private static func read(_ bytes: [UInt8], _ header: FrameHeader) -> [AcceptedWrite] {
        guard var batch = BatchReader(bytes, header) else { return [] }
        var found: [AcceptedWrite] = []
        while let item = batch.next() { found.append(batch.write(item)) }
        return found
    }

    @Test("gives back what was put in, whatever the order of times and destinations")
    func roundTrip() throws {
        let base = try Sample.write(1)
        let writes = (Int64(1)...200).map { number in
            AcceptedWrite(
                sequence: number * 3, session: base.session, user: base.user,
                acceptedAt: Timestamp(milliseconds: 1_700_000_000_000 - number * 7919 % 1000),
                app: base.app, className: base.className,
                operation: Operation.allCases[Int(number) % 3], topic: "t/\(number * 31 % 40)",
                payload: Array(repeating: UInt8(number % 256), count: Int(number * 37 % 900)))
        }
        let body = try Self.body(writes)
        #expect(body.header.count == 200 && body.header.last == 600 && !body.header.isDense)
        #expect(body.header.oldest == writes.map(\.acceptedAt.milliseconds).min())
        #expect(Self.read(body.bytes, body.header) == writes)
        var batch = try #require(BatchReader(body.bytes, body.header))
        let end = batch.tail()
        var tail = try #require(end)
        let said = QueueMarks(&tail)
        let marks = try #require(said)
        #expect(marks.watermark == 2 && marks.last == 77)
        #expect(marks.holes.ranges == [10...39, 51...77])
        let packets = WindowCoding.decode(&tail)
        #expect(packets == Sample.packets(70...77) && tail.isAtEnd)
        // And from its beginning again.
        batch.rewind()
        let first = batch.next()
        #expect(first?.sequence == 3)
    }

    @Test("has a header of 32 bytes, which gives it back")
    func header() {
        for header in [
            FrameHeader(first: 1, last: 1, count: 1, oldest: 0),
            FrameHeader(first: .max - 7, last: .max, count: 2, oldest: .min),
            FrameHeader(first: 0, last: Int64(UInt32.max), count: 9, oldest: .max),
        ] {
            var header = header
            header.sealedBytes = 1234
            var bytes: [UInt8] = []
            header.encode(into: &bytes)
            #expect(bytes.count == FrameHeader.byteCount)
            #expect(FrameHeader(bytes[...]) == header)
            #expect(FrameHeader(bytes.dropLast()) == nil)
        }
    }

    @Test("header of any bytes is one in its bounds or none, never a trap")
    func anyHeader() {
        var header = FrameHeader(first: 5, last: 9, count: 5, oldest: 1)
        header.sealedBytes = 100
        var whole: [UInt8] = []
        header.encode(into: &whole)
        var random = SplitMix(1)
        for round in 0..<30_000 {
            var bytes = whole
            for _ in 0...round % 4 {
                bytes[Int(random.next() % 32)] = random.next() % 2 == 0
                    ? 0xFF : UInt8(random.next() % 256)
            }
            guard let found = FrameHeader(bytes[...]) else { continue }
            #expect(found.first >= 0 && found.last >= found.first)
            #expect(found.sealedBytes <= FrameHeader.sizeLimit && found.byteCount % 8 == 0)
            _ = found.isDense
        }
    }

    @Test("of any bytes gives values or nothing, never a trap")
    func anyBytes() throws {
        let body = try Self.body(try Sample.writes(1...9))
        let letter = DeadLetter(
            write: try Sample.write(4), reason: "r", buriedAt: Timestamp(milliseconds: 1))
        let buried = try #require(letter.body)
        for body in [body, buried] {
            for length in 0...body.bytes.count {
                decode(Array(body.bytes.prefix(length)), body.header)
                for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] where length < body.bytes.count {
                    var changed = body.bytes
                    changed[length] = value
                    decode(changed, body.header)
                }
            }
        }
        #expect(DeadLetter(buried.bytes, buried.header) == letter)
    }

    private func decode(_ bytes: [UInt8], _ header: FrameHeader) {
        for header in [header, FrameHeader(first: .max, last: .max, count: .max, oldest: 0)] {
            guard var batch = BatchReader(bytes, header) else { continue }
            while let item = batch.next() { _ = batch.write(item) }
            batch.rewind()
            if var tail = batch.tail(), QueueMarks(&tail) != nil {
                _ = WindowCoding.decode(&tail)
                _ = KeyCoding.decode(&tail)
            }
            _ = DeadLetter(bytes, header)
        }
    }

    @Test("opens only as what it is, where it is, in its segment", arguments: 0..<5)
    func bound(change: Int) throws {
        let (key, other) = (SecretBytes(Array(1...32)), SecretBytes(Array(2...33)))
        let id = SegmentID(generation: 2, number: 3)
        var cipher = try SegmentCipher(key, id)
        var bytes: [UInt8] = []
        let body = try Self.body([try Sample.write(1)])
        let header = try cipher.seal(body.bytes, body.header, .batch, at: 64, into: &bytes)
        #expect(bytes.count == header.byteCount)
        let plain = try cipher.open(bytes, header, .batch, at: 64)
        #expect(plain == body.bytes)
        let opened = switch change {
        case 0: try cipher.open(bytes, header, .batch, at: 72)
        case 1: try cipher.open(bytes, header, .letter, at: 64)
        case 2: try opened(SegmentCipher(other, id))
        case 3: try opened(SegmentCipher(key, SegmentID(generation: 2, number: 4)))
        default: try opened(SegmentCipher(key, SegmentID(generation: 3, number: 3)))
        }
        #expect(opened == nil)

        func opened(_ cipher: consuming SegmentCipher) throws -> [UInt8]? {
            try cipher.open(bytes, header, .batch, at: 64)
        }
    }
}

@Suite("Segment")
struct SegmentTests {
    @Test("has a name that gives it back")
    func name() {
        for id in [
            SegmentID(generation: 1, number: 1), SegmentID(generation: 300, number: 1 << 50),
        ] { #expect(SegmentID(id.text[...]) == id) }
        for text in ["", "1-1", "00000001", "00000001-00000000000g", "-0000001-000000000001"] {
            #expect(SegmentID(text[...]) == nil, "\(text)")
        }
    }

    @Test("has a summary that gives it back, or none where it would not fit")
    func summary() throws {
        let id = SegmentID(generation: 1, number: 9)
        var segment = Segment(id, size: 65_536)
        for number in Int64(1)...100 {
            segment.note(try Sample.write(number, in: "Class\(number % 7)"))
        }
        for number in stride(from: Int64(200), to: 240, by: 2) {
            segment.note(try Sample.write(number))
        }
        segment.note(FrameHeader(first: 1, last: 239, count: 120, oldest: 17), endingAt: 4096)
        let summary = try #require(segment.summary)
        let again = try #require(Segment(id, size: 65_536, summary: summary))
        #expect(again == segment && again.last == 239 && again.oldest == 17)
        for length in 0..<summary.count {
            #expect(Segment(id, size: 65_536, summary: Array(summary.prefix(length))) == nil)
            var changed = summary
            changed[length] ^= 0xFF
            _ = Segment(id, size: 65_536, summary: changed)
        }
        #expect(Segment(id, size: 4000, summary: summary) == nil)
        for number in stride(from: Int64(300), to: 400, by: 2) {
            segment.note(try Sample.write(number))
        }
        #expect(segment.summary == nil)
    }

    @Test("remembers each class it may hold, or that there are more")
    func classes() throws {
        var segment = Segment(SegmentID(generation: 1, number: 1), size: 65_536)
        for number in Int64(1)...20 { segment.note(try Sample.write(number, in: "C\(number)")) }
        #expect(segment.mayHold { $0.description == "C20" })
        #expect(!segment.mayHold { $0.description == "C21" })
        for number in Int64(21)...40 { segment.note(try Sample.write(number, in: "C\(number)")) }
        #expect(segment.mayHold { $0.description == "C40" })
    }
}
