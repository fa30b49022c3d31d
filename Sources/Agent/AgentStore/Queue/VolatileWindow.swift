package import AgentCore
import Cryptography
package import LinuxIO

/// Bus packets that have a sequence number but are not on disk, and the keys of writes that went
/// upstream without the disk. They are kept in a file in memory, so that they remain if only the
/// process crashes.
///
/// Two slots are written in turn, so that one is always complete. Content from another boot of
/// the machine is ignored.
package struct VolatileWindow: ~Copyable {
    package static let slotBytes = 256 * 1024
    private static let magic = Array("postern window 1".utf8)

    private let file: SlottedFile
    private let boot: [UInt8]
    private var turn: Int64 = 0
    /// The content when the file was opened, in rising sequence order.
    package private(set) var found: [DeliveredPacket] = []
    /// The keys when the file was opened, oldest first.
    package private(set) var foundKeys: [KeptKey] = []

    package init(_ path: String) throws(FileFailure) {
        let boot = try InputFile.bootID()
        let file = try SlottedFile(path, slotBytes: Self.slotBytes)
        var (found, keys) = ([DeliveredPacket](), [KeptKey]())
        var turn: Int64 = 0
        for slot in 0..<2 {
            let bytes = try file.read(slot: slot)
            if let read = Self.decode(bytes, boot: boot), read.turn > turn {
                (turn, found, keys) = (read.turn, read.entries, read.keys)
            }
        }
        self.file = file
        self.boot = boot
        self.turn = turn
        self.found = found
        foundKeys = keys
    }

    /// Replaces the content. If there are too many packets or keys, keeps the newest.
    package mutating func write(
        _ entries: [DeliveredPacket], _ keys: [KeptKey]
    ) throws(FileFailure) {
        turn += 1
        let bytes = Self.encode(
            entries.suffix(Queue.windowLimit), keys.newest, turn: turn, boot: boot)
        try file.write(bytes, slot: Int(turn % 2))
    }

    private static func encode(
        _ entries: ArraySlice<DeliveredPacket>, _ keys: [KeptKey], turn: Int64, boot: [UInt8]
    ) -> [UInt8] {
        var bytes = magic
        _ = bytes.append(short: String(decoding: boot, as: UTF8.self))
        bytes.append(number: turn)
        bytes.append(half: UInt16(clamping: entries.count))
        for entry in entries {
            bytes.append(half: entry.packetID)
            bytes.append(number: entry.sequence)
            bytes.append(digest: entry.digest)
        }
        KeyCoding.encode(keys, into: &bytes)
        bytes.append(digest: checksum(bytes) ?? 0)
        return bytes
    }

    /// Nil for bytes that `encode` has not written during this boot.
    static func decode(
        _ bytes: [UInt8], boot: [UInt8]
    ) -> (turn: Int64, entries: [DeliveredPacket], keys: [KeptKey])? {
        guard bytes.starts(with: magic) else { return nil }
        var reader = ByteReader(Array(bytes.dropFirst(magic.count)))
        guard let name = reader.shortText(), Array(name.utf8) == boot,
            let turn = reader.number(), let count = reader.half(), count <= Queue.windowLimit
        else { return nil }
        var entries: [DeliveredPacket] = []
        for _ in 0..<count {
            guard let packetID = reader.half(), let sequence = reader.number(),
                let digest = reader.digest()
            else { return nil }
            entries.append(DeliveredPacket(
                packetID: packetID, digest: digest, sequence: sequence, isDurable: false))
        }
        guard let keys = KeyCoding.decode(&reader) else { return nil }
        let length = magic.count + reader.position
        guard let sum = reader.digest(), let own = checksum(Array(bytes.prefix(length))),
            sum == own
        else { return nil }
        return (turn, entries, keys)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt128? {
        (try? SHA256.digest(bytes)).map { $0.prefix(16).reduce(0) { $0 << 8 | UInt128($1) } }
    }
}

extension InputFile {
    /// A text that is unique to this boot of the machine. Source: random(4).
    static func bootID() throws(FileFailure) -> [UInt8] {
        var file = try InputFile("/proc/sys/kernel/random/boot_id")
        return Array(try file.read(first: 64).prefix { $0 != UInt8(ascii: "\n") })
    }
}
