import AgentCore
import LinuxIO
import Testing

@testable import AgentStore

@Suite("Window in memory")
struct VolatileWindowTests {
    private func entries(_ sequences: ClosedRange<Int64>) -> [DeliveredPacket] {
        sequences.map {
            DeliveredPacket(
                packetID: UInt16($0), digest: UInt128($0) << 64, sequence: $0, isDurable: false)
        }
    }

    @Test("is found again as it was written last, however often")
    func roundTrip() throws {
        let folder = try StateFolder()
        let path = folder.path + "/window"
        for round in 1...5 as ClosedRange<Int64> {
            var window = try VolatileWindow(path)
            if round > 1 {
                #expect(window.found == entries(1...(round - 1) * 10))
                #expect(window.foundKeys == Sample.keys(1...round - 1))
            }
            try window.write(entries(1...5), [])
            try window.write(entries(1...round * 10), Sample.keys(1...round))
        }
        #expect(try VolatileWindow(path).found.count == 50)
    }

    @Test("that was half written leaves the one before it")
    func torn() throws {
        let folder = try StateFolder()
        let path = folder.path + "/window"
        var window = try VolatileWindow(path)
        try window.write(entries(1...3), Sample.keys(4...4))
        try window.write(entries(1...900), Sample.keys(1...9000))
        #expect(try VolatileWindow(path).foundKeys == Sample.keys(4905...9000))
        let file = try SlottedFile(path, slotBytes: VolatileWindow.slotBytes)
        try file.write([UInt8](repeating: 0, count: 700), slot: 0)
        #expect(try VolatileWindow(path).found == entries(1...3))
    }

    @Test("of another boot, or of bytes that were changed, counts as none")
    func foreign() throws {
        let folder = try StateFolder()
        let path = folder.path + "/window"
        var window = try VolatileWindow(path)
        try window.write(entries(1...3), Sample.keys(4...4))
        let bytes = try SlottedFile(path, slotBytes: VolatileWindow.slotBytes).read(slot: 1)
        let boot = try InputFile.bootID()
        #expect(VolatileWindow.decode(bytes, boot: boot)?.entries == entries(1...3))
        #expect(VolatileWindow.decode(bytes, boot: boot)?.keys == Sample.keys(4...4))
        #expect(VolatileWindow.decode(bytes, boot: boot.reversed()) == nil)
        #expect(VolatileWindow.decode([], boot: boot) == nil)
        let length = 16 + 1 + boot.count + 10 + 3 * 26 + 1 + 17 + 16
        for index in 0..<length {
            var changed = bytes
            changed[index] ^= 0x40
            #expect(VolatileWindow.decode(changed, boot: boot) == nil, "byte \(index)")
            let cut = Array(bytes.prefix(index))
            #expect(VolatileWindow.decode(cut, boot: boot) == nil, "cut at \(index)")
        }
    }
}
