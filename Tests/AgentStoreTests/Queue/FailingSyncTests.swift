import AgentCore
@testable import AgentStore
import Foundation
import Gate
import Glibc
import LinuxIO
import Testing

/// The power-cut sweep lets each sync of each change fail; this is what is seen of it by value.
@Suite("Failing sync")
struct FailingSyncTests {
    /// Lets what this process has open for writing under this name fail to sync: `/dev/null` takes
    /// each write and no sync.
    private func breakSyncs(of path: String) throws {
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name),
                (try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/\(name)")) == path,
                fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
            else { continue }
            let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
            #expect(dup2(null, descriptor) == descriptor)
            close(null)
            count += 1
        }
        #expect(count == 1)
    }

    private func expectInputOutput(_ body: () throws -> Void) {
        let error = #expect(throws: StoreError.self) { try body() }
        var isInputOutput = false
        if case .unavailable(.inputOutput) = error { isInputOutput = true }
        #expect(isInputOutput, "\(error as Any)")
        // The agent opens the store again, before it acknowledges anything.
        #expect(error?.mayPass == false)
    }

    @Test("of a segment adds nothing, and no later sync of that file is believed")
    func segment() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3), window: Sample.packets(1...3))
        let path = try #require(folder.segments().last)
        let before = try folder.bytes(path)
        try breakSyncs(of: path)
        for _ in 0..<2 {
            expectInputOutput { try store.append(try Sample.writes(4...5)) }
            #expect(store.lastSequence == 3 && store.usage.messages == 3)
            #expect(store.window == Sample.packets(1...3))
        }
        #expect(try folder.bytes(path) == before)
        let again = try folder.open()
        try again.append(try Sample.writes(4...5))
        #expect(try folder.open().allSequences() == Array(1...5))
        #expect(again.usage.losses.total == 0)
    }

    @Test("of a dead letter leaves its write, and the letter is written again before it goes")
    func letter() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3))
        try store.bury([DeadLetterRequest(sequence: 1, reason: "too large")])
        let write = try #require(store.next(after: 1, limit: 1).first)
        // As a process leaves it whose sync failed: it can be read, but may not be on the disk.
        let letter = DeadLetter(write: write, reason: "again", buriedAt: write.acceptedAt)
        _ = try store.queue.letters.add(
            [letter], store.queue.key, generation: store.queue.generation)
        let path = folder.outbox + "/dead-1.log"
        let old = try LogFile(path, isReadOnly: true)
        let isThere = old.hasName
        #expect(isThere)
        let again = try folder.open()
        #expect(try again.allSequences() == [2, 3])
        try again.begin()
        let isThereStill = old.hasName
        #expect(!isThereStill)
        #expect(try again.allSequences() == [3])
        #expect(again.usage.dead == 2 && again.usage.losses.causes == [.dead: 2])
        #expect(try folder.open().deadLetters(limit: 9).map(\.reason) == ["too large", "again"])
    }
}
