import AgentCore
@testable import AgentStore
import Foundation
import LinuxIO
import Sessions
import Testing
import Wire

@Suite("First start")
struct FirstStartTests {
    @Test("makes folder, key, vault and queue that nobody else may read")
    func fresh() throws {
        let parent = try StateFolder()
        let folder = parent.path + "/state"
        #expect(!BoardStore.exists(in: folder))
        let store = try BoardStore(
            folder: folder, keyFile: KeyFile(folder: folder), segmentBytes: 8192,
            founding: Sample.identity)
        #expect(BoardStore.exists(in: folder))
        #expect(store.lastSequence == 0)
        try store.append([try Sample.write(1)])
        try store.bury([DeadLetterRequest(sequence: 1, reason: "")])
        let manager = FileManager.default
        let all = try manager.subpathsOfDirectory(atPath: folder)
        #expect(all.contains("vault.copy") && all.contains { $0.hasPrefix("outbox/dead-") })
        for name in [""] + all {
            let found = try manager.attributesOfItem(atPath: folder + "/" + name)
            let mode = name == "" || name == "outbox" ? 0o700 : 0o600
            #expect(found[.posixPermissions] as? Int == mode, "\(name)")
        }
    }

    @Test("asks for an identity once")
    func founding() throws {
        let folder = try StateFolder()
        try folder.open().put(.memory, "{}")
        let store = try BoardStore(folder: folder.path, keyFile: KeyFile(folder: folder.path)) {
            () throws(StoreError) in throw .corrupt("asked again")
        }
        #expect(store.secret(.identity) != nil)
    }

    @Test("is refused where others may read", arguments: [
        ("", 0o750), ("vault", 0o640), ("storage.key", 0o604), ("outbox", 0o710),
        ("outbox/00000001-000000000001.log", 0o660), ("vault.copy", 0o644),
    ])
    func looseModes(name: String, mode: Int) throws {
        let folder = try StateFolder()
        try folder.open().append([try Sample.write(1)])
        try folder.setMode(mode, of: name)
        // The copy is read only where it is needed.
        if name == "vault.copy" { try PrivateFile.remove(folder.vault) }
        let failure = #expect(throws: StoreError.self) { try folder.open() }
        guard case .unsafePermissions = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("is not assumed when the key is missing, wrong or short")
    func keys() throws {
        let folder = try StateFolder()
        try folder.open().put(.memory, "memory")
        let right = try folder.bytes("storage.key")
        try PrivateFile.remove(folder.key)
        #expect(throws: StoreError.keyMissing(source: folder.key)) { try folder.open() }
        let other = try StateFolder()
        try other.open().put(.memory, "other")
        try PrivateFile.write(folder.key, try other.bytes("storage.key"))
        #expect(throws: StoreError.keyWrong(source: folder.key)) { try folder.open() }
        for damaged in [[UInt8](repeating: 7, count: 32), []] {
            try PrivateFile.write(folder.key, damaged)
            let reason = "it is damaged, or not a storage key of this program"
            #expect(throws: StoreError.keyRefused(source: folder.key, reason: reason)) {
                try folder.open()
            }
        }
        try PrivateFile.write(folder.key, right)
        #expect(try folder.open().text(.memory) == "memory")
    }

    @Test("is not assumed where a queue or a copy is left", arguments: ["outbox", "vault.copy"])
    func leftAlone(name: String) throws {
        let folder = try StateFolder()
        try folder.open().append([try Sample.write(1)])
        for other in try folder.names() where other != name {
            try FileManager.default.removeItem(atPath: folder.path + "/" + other)
        }
        #expect(BoardStore.exists(in: folder.path))
        for _ in 0..<2 {
            #expect(throws: StoreError.keyMissing(source: folder.key)) { try folder.open() }
        }
        #expect(try folder.names().filter { $0 != name }.isEmpty)
    }

    @Test("is resumed wherever power was cut in it", arguments: 0...4)
    func interrupted(step: Int) throws {
        let whole = try StateFolder()
        _ = try whole.open()
        let folder = try StateFolder()
        // What is durable after each step: the marker, the key, the vault, no marker, the copy.
        let steps = [["founding"], ["founding", "storage.key"],
            ["founding", "storage.key", "vault"], ["storage.key", "vault"],
            ["storage.key", "vault", "vault.copy"]]
        for name in steps[step] {
            let bytes = name == "founding" ? [] : try whole.bytes(name)
            try PrivateFile.write(folder.path + "/" + name, bytes)
        }
        for round in Int64(1)...2 {
            let store = try folder.open()
            #expect(try store.load().isUnreadable == false)
            try store.append([try Sample.write(round)])
        }
        #expect(try folder.open().allSequences() == [1, 2])
        #expect(try folder.names()
            == ["outbox", "storage.key", "vault", "vault.copy"])
    }

    @Test("by many at once makes one vault and one key")
    func race() async throws {
        let folder = try StateFolder()
        let path = folder.path
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let birth = VaultCreation(folder: path, file: VaultFile(in: path))
                    let keyFile = KeyFile(folder: path)
                    try birth.ensure(keyFile) { () throws(StoreError) in
                        SecretBytes(Array(try Sample.identity().json.bytes))
                    }
                    return try birth.open(keyFile).content.queue.key.reveal()
                }
            }
            var keys: Set<[UInt8]> = []
            for try await key in group { keys.insert(key) }
            #expect(keys.count == 1)
        }
        #expect(try folder.open().load().isUnreadable == false)
    }
}
