import AgentCore
import AgentStore
import Foundation
import Gate
import LinuxIO
import Testing

/// A small file system in memory, mounted for a test.
///
/// A process of its own keeps it, in a mount namespace of its own: when this process ends, however
/// that happens, it ends, too, and nothing is left mounted.
final class SmallDisk {
    struct Unable: Error {}

    let path: String
    private let keeper = Process()
    private let orders = Pipe()
    private let replies = Pipe()

    init(megabytes: Int) throws {
        let place = NSTemporaryDirectory()
        let script = """
            mount -t tmpfs -o size=\(megabytes)m,mode=0700 tmpfs "$1" || exit 1
            echo
            while read -r option; do mount -o "remount,$option" "$1" && echo; done
            """
        keeper.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        keeper.arguments = [
            "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", place,
        ]
        keeper.standardInput = orders
        keeper.standardOutput = replies
        keeper.standardError = FileHandle.nullDevice
        try keeper.run()
        path = "/proc/\(keeper.processIdentifier)/root\(place)"
        try replies.fileHandleForWriting.close()
        try awaitReply()
    }

    deinit {
        try? orders.fileHandleForWriting.close()
        keeper.waitUntilExit()
    }

    func remount(_ option: String) throws {
        try orders.fileHandleForWriting.write(contentsOf: Data("\(option)\n".utf8))
        try awaitReply()
    }

    private func awaitReply() throws {
        guard !replies.fileHandleForReading.availableData.isEmpty else { throw Unable() }
    }

    /// Takes all room but so many bytes.
    func fill(leaving left: Int64) throws {
        let room = try #require(FileSystemSpace(at: path)).available
        _ = try LogFile(making: path + "/junk", size: Int(room - left))
    }

    func free() throws { try PrivateFile.remove(path + "/junk") }

    static let isPossible: Bool = (try? SmallDisk(megabytes: 1)) != nil
}

@Suite("Full disk", .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
struct FullDiskTests {
    private let disk: SmallDisk
    private let payload = String(repeating: "x", count: 20_000)

    init() throws { disk = try SmallDisk(megabytes: 8) }

    private func open() throws -> BoardStore {
        let folder = disk.path + "/state"
        return try BoardStore(
            folder: folder, keyFile: KeyFile(folder: folder), segmentBytes: 262_144,
            founding: Sample.identity)
    }

    /// Appends until the disk takes no more.
    private func fill(_ store: BoardStore) throws -> Int64 {
        do throws(StoreError) {
            while true {
                let next = store.lastSequence + 1
                guard let write = try? Sample.write(next, payload: payload) else { return 0 }
                try store.append([write])
            }
        } catch {
            #expect(error == .unavailable(.full))
        }
        return store.lastSequence
    }

    @Test("refuses appends with an eighth of it left, and drains, drops and flows again")
    func refuses() throws {
        let store = try open()
        let last = try fill(store)
        #expect(last > 200)
        let space = try #require(FileSystemSpace(at: disk.path))
        let eighth = space.total / 8
        #expect((eighth..<eighth + 262_144).contains(space.available))
        #expect(throws: StoreError.unavailable(.full)) { try store.checkRoom(for: 20_000) }
        for store in [store, try open()] {
            #expect(try store.allSequences() == Array(1...last))
        }
        try store.commit([.claim(Sample.claim(1)), .memory(Sample.memory(4))])
        try store.bury([DeadLetterRequest(sequence: 1, reason: "too large")])
        try store.makeRoom(1_000_000, keep: [])
        let first = try #require(try store.allSequences().first)
        #expect(first > 40 && store.usage.losses.ranges == [1...first - 1])
        try store.checkRoom(for: 1000)
        try store.append([try Sample.write(last + 1)])
        try store.remove(Array(first...last))
        #expect(try open().allSequences() == [last + 1])
    }

    @Test("says before a write is taken that the next segment has no room")
    func nextSegment() throws {
        let store = try open()
        try store.append([try Sample.write(1)])
        let space = try #require(FileSystemSpace(at: disk.path))
        try disk.fill(leaving: space.total / 8 + 100_000)
        try store.checkRoom(for: 200_000)
        #expect(throws: StoreError.unavailable(.full)) { try store.checkRoom(for: 262_144) }
        _ = try fill(store)
        #expect(throws: StoreError.unavailable(.full)) { try store.checkRoom(for: 20_000) }
        try disk.free()
        try store.checkRoom(for: 20_000)
    }

    @Test("without a byte left is opened, read and drained, and its loss of room passes")
    func nothingLeft() throws {
        var store = try open()
        try store.append(try (1...100).map { try Sample.write($0, payload: payload) })
        try store.remove([1])
        try disk.fill(leaving: 0)
        for isAgain in [false, true] {
            if isAgain { store = try open() }
            #expect(throws: StoreError.unavailable(.full)) {
                try store.append([try Sample.write(101)])
            }
            let first: Int64 = isAgain ? 50 : 2
            #expect(try store.allSequences() == Array(first...100))
            // A change of the vault is refused whole.
            #expect(throws: StoreError.unavailable(.full)) {
                try store.commit([.claim(Sample.claim(1))])
            }
            #expect(store.secret(.claim) == nil)
            try store.remove(Array(first..<first + 48))
        }
        #expect(try store.load().claim == nil)
        try disk.free()
        try store.append([try Sample.write(101)])
        try store.commit([.claim(Sample.claim(1))])
        #expect(try open().allSequences() == [98, 99, 100, 101])
        #expect(try open().load().claim != nil)
        #expect(store.usage.losses.total == 0)
    }

    @Test("that fills during any change leaves what was there before or after it")
    func during() throws {
        let store = try open()
        for first in stride(from: Int64(1), through: 400, by: 5) {
            try store.append(try Sample.writes(first...first + 4))
        }
        let keep = try [#require(ClassName("Alarm"))]
        for left in stride(from: Int64(0), through: 400_000, by: 20_480) {
            try disk.fill(leaving: left)
            let next = store.lastSequence + 1
            let before = try store.allSequences()
            try? store.append([try Sample.write(next, payload: payload)])
            try? store.bury([DeadLetterRequest(sequence: before[0], reason: "")])
            try? store.makeRoom(100, keep: keep)
            try? store.rekey(to: .file)
            try? store.commit([.memory(Sample.memory(left))])
            let there = try store.allSequences()
            let again = try open()
            #expect(try again.allSequences() == there)
            #expect(again.usage.losses == store.usage.losses)
            try disk.free()
            #expect(store.usage.losses.total == store.lastSequence - Int64(there.count))
            #expect(try store.verify() == [])
        }
        try store.append([try Sample.write(store.lastSequence + 1)])
    }

    @Test("that is read-only is opened and read, refuses the rest, and flows again")
    func readOnly() throws {
        var store: BoardStore? = try open()
        try store?.append(try Sample.writes(1...20))
        store = nil
        try disk.remount("ro")
        let closed = try open()
        #expect(try closed.allSequences() == Array(1...20))
        #expect(throws: StoreError.unavailable(.readOnly)) {
            try closed.append([try Sample.write(21)])
        }
        #expect(throws: StoreError.unavailable(.readOnly)) {
            try closed.commit([.claim(Sample.claim(1))])
        }
        #expect(throws: StoreError.unavailable(.readOnly)) { try closed.remove([1]) }
        try disk.remount("rw")
        try closed.append([try Sample.write(21)])
        try closed.remove([1])
        #expect(try open().allSequences() == Array(2...21))
    }
}
