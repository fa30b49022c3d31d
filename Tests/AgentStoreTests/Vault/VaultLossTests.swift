import AgentCore
@testable import AgentStore
import Foundation
import Gate
import LinuxIO
import Sessions
import Testing

@Suite("Loss of the vault")
struct VaultLossTests {
    private static let kinds = ["gone", "empty", "zeros", "text", "halved", "flipped", "longer"]

    private func spoil(_ path: String, _ kind: String) throws {
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        switch kind {
        case "empty": try PrivateFile.write(path, [])
        case "zeros": try PrivateFile.write(path, Array(repeating: 0, count: whole.count))
        case "text": try PrivateFile.write(path, Array(repeating: 65, count: 50_000))
        case "halved": try PrivateFile.write(path, Array(whole.prefix(whole.count / 2)))
        case "longer": try PrivateFile.write(path, whole + [0])
        case "flipped":
            var bytes = whole
            bytes[whole.count / 2] ^= 4
            try PrivateFile.write(path, bytes)
        default: try PrivateFile.remove(path)
        }
    }

    @Test("costs neither identity nor queue, and is never taken for a first start",
        arguments: kinds)
    func damaged(kind: String) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...500), window: Sample.packets(400...500))
        try store.remove(Array(1...100))
        try store.put(.session, "session")
        try spoil(folder.vault, kind)

        var said: [String] = []
        let again = try BoardStore(
            folder: folder.path, keyFile: KeyFile(folder: folder.path),
            founding: { () throws(StoreError) in throw .corrupt("a first start") })
        let records = try again.load { said.append($0) }
        #expect(records.identity.deviceSecret.matches(SecretBytes(Array(1...32))))
        #expect(records.session == nil && records.isUnreadable)
        #expect(said.contains { $0.contains(kind == "gone" ? "gone" : "damaged") })
        #expect(try folder.names().contains("vault.damaged") == (kind != "gone"))
        #expect(try again.allSequences() == Array(101...500))
        #expect(again.window == Sample.packets(400...500))
        // A number that was given never comes again, whatever the vault had said.
        #expect(again.lastSequence >= VaultCopy.span)
        let next = again.lastSequence + 1
        try again.append([try Sample.write(next)])
        let third = try folder.open()
        #expect(try third.allSequences() == Array(101...500) + [next])
        // The session is missed until an authority has spoken.
        #expect(try third.load().isUnreadable)
        #expect(third.usage.losses.total == 0)
        #expect(try third.verify() == [])
    }

    @Test("and of its copy is named, and nothing is made in their place", arguments: kinds)
    func both(kind: String) throws {
        let folder = try StateFolder()
        try folder.open().append([try Sample.write(1)])
        try spoil(folder.vault, kind)
        try spoil(folder.path + "/vault.copy", kind)
        let before = try folder.files().map { [$0: try folder.bytes($0)] }
        for _ in 0..<2 {
            let failure = #expect(throws: StoreError.self) { try folder.open() }
            switch failure {
            case .unreadable, .keyWrong: break
            default: Issue.record("\(String(describing: failure))")
            }
        }
        #expect(try folder.files().map { [$0: try folder.bytes($0)] } == before)
    }

    @Test("of the copy alone is made good in silence", arguments: kinds)
    func copy(kind: String) throws {
        let folder = try StateFolder()
        try folder.open().commit([.memory(Sample.memory(7))])
        try spoil(folder.path + "/vault.copy", kind)
        var said: [String] = []
        #expect(try folder.open().load { said.append($0) }.memory == Sample.memory(7))
        #expect(said.isEmpty)
        try PrivateFile.remove(folder.vault)
        #expect(try folder.open().secret(.identity) != nil)
    }

    @Test("on a board that was never claimed and had no queue asks nobody to pair it again")
    func unclaimed() throws {
        let folder = try StateFolder()
        _ = try folder.open()
        try PrivateFile.remove(folder.vault)
        let store = try folder.open()
        #expect(try store.load().isUnreadable == false)
        #expect(store.lastSequence >= VaultCopy.span)
    }

    @Test("again and again goes on behind all numbers before")
    func repeated() throws {
        let folder = try StateFolder()
        var last: Int64 = 0
        for _ in 0..<3 {
            let store = try folder.open()
            #expect(store.lastSequence >= last)
            last = store.lastSequence + 1
            try store.append([try Sample.write(last)])
            try PrivateFile.remove(folder.vault)
        }
        #expect(try folder.open().lastSequence > last)
        #expect(try folder.open().allSequences().count == 3)
    }

    @Test("after another user's claim opens nothing of the queue before it")
    func destroyed() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...50))
        let key = store.queue.key
        try store.commit([.destroyQueue])
        try store.append([try Sample.write(51)])
        try PrivateFile.remove(folder.vault)
        let again = try folder.open()
        #expect(!again.queue.key.matches(key))
        #expect(try again.allSequences() == [51])
    }

    @Test("by a flip of any byte is noticed, and costs no more", arguments: 0..<4)
    func flips(part: Int) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3))
        try store.put(.session, "session")
        let whole = try folder.bytes("vault")
        for index in stride(from: part, to: whole.count, by: 17) {
            let copy = try folder.copy()
            var bytes = whole
            bytes[index] ^= UInt8(1 << (index % 8))
            try PrivateFile.write(copy.vault, bytes)
            let again = try copy.open()
            #expect(again.vault.takeFaults().count == 1, "\(index)")
            #expect(again.secret(.session) == nil && again.secret(.identity) != nil)
            #expect(try again.allSequences() == [1, 2, 3])
        }
    }
}
