import Cryptography
import LinuxIO
import Sessions

/// The file `head`: which writes have left the queue, and how many bytes were written to disk.
///
/// It is written in place and never synced. After a power cut it may be old. Then some writes are
/// sent again, with their earlier sequence numbers. Each frame of the queue contains the marks of
/// its time, so no older state returns. Two slots are written in turn, and each is authenticated.
final class HeadFile {
    private static let slotBytes = 1024
    private static let version: UInt8 = 1

    private let file: SlottedFile
    private let key: SecretBytes
    private let generation: Int64
    private var turn: Int64 = 0
    /// The content when the file was opened. Nil: none.
    private(set) var said: (marks: QueueMarks, tally: WriteTally)?

    /// Opens or creates the file.
    init(_ path: String, _ key: SecretBytes, generation: Int64) throws(StoreError) {
        self.generation = generation
        self.key = try Self.derived(key, generation)
        do throws(FileFailure) {
            file = try SlottedFile(path, slotBytes: Self.slotBytes)
        } catch {
            throw StoreError(error)
        }
        for slot in 0..<2 {
            guard let bytes = try? file.read(slot: slot),
                let found = (try? Self.read(bytes, self.key, generation)).flatMap(\.self),
                found.turn > turn
            else { continue }
            (turn, said) = (found.turn, (found.marks, found.tally))
        }
    }

    /// Reads the file without opening it for writing. Nil if it has no valid content.
    static func peek(_ path: String, _ key: SecretBytes, generation: Int64) -> QueueMarks? {
        guard PrivateFile.isThere(path),
            let bytes = try? PrivateFile.read(path, limit: 2 * slotBytes),
            let own = try? derived(key, generation)
        else { return nil }
        let slots = [Array(bytes.prefix(slotBytes)), Array(bytes.dropFirst(slotBytes))]
        return slots.compactMap { (try? read($0, own, generation)).flatMap(\.self) }
            .max { $0.turn < $1.turn }?.marks
    }

    private static func derived(
        _ key: SecretBytes, _ generation: Int64
    ) throws(StoreError) -> SecretBytes {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: key, salt: [], info: place(generation), count: AES256GCM.keyCount)
        } catch {
            throw StoreError(error)
        }
    }

    private static func place(_ generation: Int64) -> [UInt8] {
        var place = Array("postern/queue/1 head".utf8)
        place.append(number: generation)
        return place
    }

    /// Nil for bytes that `write` has not written.
    private static func read(
        _ slot: [UInt8], _ key: SecretBytes, _ generation: Int64
    ) throws(StoreError) -> (turn: Int64, marks: QueueMarks, tally: WriteTally)? {
        var reader = ByteReader(slot)
        guard let count = reader.half(), let sealed = reader.skip(Int(count)),
            let plain = try RecordBox.open(
                Array(slot[sealed]), under: key, at: place(generation))
        else { return nil }
        var content = ByteReader(plain.reveal())
        guard content.byte() == version, let turn = content.number(),
            let marks = QueueMarks(&content), let tally = WriteTally(&content)
        else { return nil }
        return (turn, marks, tally)
    }

    func write(_ marks: QueueMarks, _ tally: WriteTally) throws(StoreError) {
        turn += 1
        var content = [Self.version]
        content.append(number: turn)
        marks.encode(into: &content)
        tally.encode(into: &content)
        let sealed = try RecordBox.seal(content, under: key, at: Self.place(generation))
        var slot: [UInt8] = []
        slot.append(half: UInt16(clamping: sealed.count))
        slot += sealed
        do throws(FileFailure) {
            try file.write(slot, slot: Int(turn % 2))
        } catch {
            throw StoreError(error)
        }
    }
}
