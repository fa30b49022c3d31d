package import AgentCore
import Cryptography
package import LinuxIO

/// The packets of the bus that were given a sequence and are not on disk: kept in a file in
/// memory, so that after a crash of the process alone each keeps its sequence.
///
/// Two slots are written in turn, so that one is whole whenever the process ends. A content of
/// another boot of the machine counts as none.
package struct VolatileWindow: ~Copyable {
    private static let slotBytes = 64 * 1024
    private static let magic = Array("postern window 1".utf8)

    private let file: SlottedFile
    private let boot: [UInt8]
    private var turn: Int64 = 0
    /// What was there when it was opened, by rising sequence.
    package private(set) var found: [DeliveredPacket] = []

    package init(_ path: String) throws(FileFailure) {
        let boot = try InputFile.bootID()
        let file = try SlottedFile(path, slotBytes: Self.slotBytes)
        var found: [DeliveredPacket] = []
        var turn: Int64 = 0
        for slot in 0..<2 {
            let bytes = try file.read(slot: slot)
            if let read = Self.decode(bytes, boot: boot), read.turn > turn {
                (turn, found) = (read.turn, read.entries)
            }
        }
        self.file = file
        self.boot = boot
        self.turn = turn
        self.found = found
    }

    /// Replaces what stood there. The newest are kept where there are too many.
    package mutating func write(_ entries: [DeliveredPacket]) throws(FileFailure) {
        turn += 1
        let bytes = Self.encode(entries.suffix(Queue.windowLimit), turn: turn, boot: boot)
        try file.write(bytes, slot: Int(turn % 2))
    }

    private static func encode(
        _ entries: ArraySlice<DeliveredPacket>, turn: Int64, boot: [UInt8]
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
        bytes.append(digest: checksum(bytes) ?? 0)
        return bytes
    }

    /// Nil for anything that `encode` has not made in this boot.
    static func decode(
        _ bytes: [UInt8], boot: [UInt8]
    ) -> (turn: Int64, entries: [DeliveredPacket])? {
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
        let length = magic.count + 1 + boot.count + 10 + Int(count) * 26
        guard let sum = reader.digest(), let own = checksum(Array(bytes.prefix(length))),
            sum == own
        else { return nil }
        return (turn, entries)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt128? {
        (try? SHA256.digest(bytes)).map { $0.prefix(16).reduce(0) { $0 << 8 | UInt128($1) } }
    }
}

extension InputFile {
    /// A text that another boot of this machine has not. Source: random(4).
    static func bootID() throws(FileFailure) -> [UInt8] {
        var file = try InputFile("/proc/sys/kernel/random/boot_id")
        return Array(try file.read(first: 64).prefix { $0 != UInt8(ascii: "\n") })
    }
}
