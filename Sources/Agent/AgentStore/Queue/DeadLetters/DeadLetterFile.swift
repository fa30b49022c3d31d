import Gate
import LinuxIO
import Sessions

/// The file of the dead letters: a log like a segment, with one letter per frame.
///
/// The newest letters count, as many as `DeadLetter.kept` and `DeadLetter.bytesKept` allow. A new
/// file with these replaces a full one.
struct DeadLetterFile {
    private static let smallest = 1 << 16

    private struct Place {
        let sequence: Int64
        let offset: Int
        let byteCount: Int
    }

    let path: String
    private var places: [Place] = []
    private var end = 0

    init(_ path: String) { self.path = path }

    /// The id of this generation's dead letter file. No segment has the number 0.
    static func id(_ generation: Int64) -> SegmentID {
        SegmentID(generation: generation, number: 0)
    }

    static func load(
        _ path: String, _ key: SecretBytes, generation: Int64
    ) throws(StoreError) -> DeadLetterFile {
        var found = DeadLetterFile(path)
        guard PrivateFile.isThere(path) else { return found }
        let reader = try SegmentReader(path, id(generation), key)
        var cursor = FrameCursor(reader, .letter, from: 0, to: nil, after: -1, isRising: false)
        while true {
            switch try cursor.next() {
            case .end: return found
            case .damage: continue
            case .frame(let header, _, let offset):
                found.note(header, at: offset)
            }
        }
    }

    private mutating func note(_ header: FrameHeader, at offset: Int) {
        // A write that was buried twice, before and after a crash, counts once.
        places.removeAll { $0.sequence == header.first }
        places.append(Place(
            sequence: header.first, offset: offset, byteCount: header.byteCount))
        end = offset + header.byteCount
    }

    /// The letters that count, in the order of their burial.
    private var kept: ArraySlice<Place> {
        var bytes = 0
        let fitting = places.reversed().prefix { place in
            bytes += place.byteCount
            return bytes <= DeadLetter.bytesKept
        }
        return places.suffix(min(fitting.count, DeadLetter.kept))
    }

    var count: Int64 { Int64(kept.count) }
    var sequences: [Int64] { places.map(\.sequence) }

    /// The newest letters, at most `limit`, in order of sequence, and the numbers of those that
    /// could not be opened.
    func letters(
        _ limit: Int, _ key: SecretBytes, generation: Int64
    ) throws(StoreError) -> (letters: [DeadLetter], damaged: [Int64]) {
        guard !places.isEmpty else { return ([], []) }
        let reader = try SegmentReader(path, Self.id(generation), key)
        var (letters, damaged) = ([DeadLetter](), [Int64]())
        for place in kept.suffix(max(0, limit)) {
            if let frame = try reader.open(.letter, at: place.offset),
                let letter = DeadLetter(frame.plaintext, frame.header)
            {
                letters.append(letter)
            } else {
                damaged.append(place.sequence)
            }
        }
        return (letters.sorted { $0.write.sequence < $1.write.sequence }, damaged)
    }

    /// Adds letters, durably. Returns the number of bytes written to disk.
    mutating func add(
        _ new: [DeadLetter], _ key: SecretBytes, generation: Int64
    ) throws(StoreError) -> Int64 {
        let id = Self.id(generation)
        var cipher = try SegmentCipher(key, id)
        var next = self
        var bytes: [UInt8] = []
        for letter in new {
            guard let body = letter.body else { continue }
            let offset = next.end
            next.note(
                try cipher.seal(body.bytes, body.header, .letter, at: offset, into: &bytes),
                at: offset)
        }
        if PrivateFile.isThere(path), try append(bytes) {
            let written = WriteTally.bytes(bytes.count, at: end)
            self = next
            return written
        }
        return try replace(with: try letters(DeadLetter.kept, key, generation: generation).letters
            + new, &cipher)
    }

    /// Durable when it returns true. False if there is no space; then nothing is written.
    private func append(_ bytes: [UInt8]) throws(StoreError) -> Bool {
        do throws(FileFailure) {
            let file = try LogFile(path)
            guard file.size >= end + bytes.count else { return false }
            try file.write(bytes, at: end)
            try file.sync()
            return true
        } catch {
            throw StoreError(error)
        }
    }

    /// Rewrites the file with the same letters, durably.
    mutating func writeAgain(
        _ key: SecretBytes, generation: Int64
    ) throws(StoreError) -> Int64 {
        var cipher = try SegmentCipher(key, Self.id(generation))
        return try replace(
            with: try letters(DeadLetter.kept, key, generation: generation).letters, &cipher)
    }

    /// Writes a new file of twice the needed size.
    private mutating func replace(
        with letters: [DeadLetter], _ cipher: inout SegmentCipher
    ) throws(StoreError) -> Int64 {
        var next = DeadLetterFile(path)
        var bytes: [UInt8] = []
        for letter in letters.suffix(DeadLetter.kept) {
            guard let body = letter.body else { continue }
            next.note(
                try cipher.seal(body.bytes, body.header, .letter, at: bytes.count, into: &bytes),
                at: next.end)
        }
        let temporary = path + ".new"
        let size = max(Self.smallest, WriteTally.page * (2 * bytes.count / WriteTally.page + 1))
        try Self.onFile { () throws(FileFailure) in
            try PrivateFile.unlink(temporary)
            let file = try LogFile(making: temporary, size: size)
            try file.write(bytes, at: 0)
            try file.sync()
            try PrivateFile.move(temporary, to: path)
        }
        self = next
        return WriteTally.bytes(bytes.count)
    }

    private static func onFile(_ body: () throws(FileFailure) -> Void) throws(StoreError) {
        do throws(FileFailure) {
            try body()
        } catch {
            throw StoreError(error)
        }
    }
}

extension Queue {
    /// The newest dead letters, at most `limit`, in order of sequence.
    func deadLetters(limit: Int) throws(StoreError) -> [DeadLetter] {
        let found = try letters.letters(limit, key, generation: generation)
        for sequence in found.damaged { note("dead letter \(sequence)") }
        return found.letters
    }
}
