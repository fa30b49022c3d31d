import AgentCore
import Foundation
import LinuxIO
import Sessions
import Testing
@testable import AgentStore

@Suite("Key turnover")
struct KeyTurnoverTests {
    private let folder: StateFolder
    private let firmware = StandInFirmware()

    /// One machine for all copies of the folder.
    private let machine: StateFolder

    init() throws {
        folder = try StateFolder()
        machine = try StateFolder()
        let id = "000102030405060708090a0b0c0d0e0f\n"
        try PrivateFile.write(machine.path + "/machine-id", Array(id.utf8))
    }

    private func file(_ folder: StateFolder) -> KeyFile {
        let keepers: [any KeyKeeper] = [
            FirmwareKey(firmware), MachineKey(machineID: machine.path + "/machine-id"),
        ]
        return KeyFile(folder: folder.path, keepers: keepers, choice: .file)
    }

    private func open(_ folder: StateFolder) throws -> BoardStore {
        try BoardStore(
            folder: folder.path, keyFile: file(folder), segmentBytes: 65_536,
            founding: Sample.identity)
    }

    private func fill(_ store: BoardStore) throws {
        try store.append(try Sample.writes(1...300), window: Sample.packets(290...300))
        try store.put(.session, "session")
    }

    private func expectWhole(_ folder: StateFolder, _ note: String) throws {
        for _ in 0..<2 {
            let store = try open(folder)
            #expect(store.vault.takeFaults() == [], "\(note)")
            #expect(store.secret(.identity) != nil, "\(note)")
            #expect(store.text(.session) == "session", "\(note)")
            #expect(try store.allSequences() == Array(1...300), "\(note)")
            #expect(try store.verify() == [], "\(note)")
        }
        #expect(
            try folder.names() == ["outbox", "storage.key", "vault", "vault.copy"], "\(note)")
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test("keeps all that the board held, open or opened again", arguments: [
        KeyTier.raspberryPi, .file,
    ])
    func keeps(tier: KeyTier) throws {
        let store = try open(folder)
        try fill(store)
        let before = try folder.bytes("storage.key")
        try store.rekey(to: tier)
        #expect(file(folder).place?.tier == tier)
        #expect(store.text(.session) == "session")
        try store.put(.claim, "later")
        try store.append([try Sample.write(301)])
        try store.remove([301])
        try expectWhole(folder, "after")
        #expect(try open(folder).text(.claim) == "later")
        try PrivateFile.write(folder.key, before)
        #expect(throws: StoreError.keyWrong(source: folder.key)) { try open(folder) }
    }

    @Test("leaves nothing in any file that opens with the old key")
    func leavesNothing() throws {
        let store = try open(folder)
        try fill(store)
        let sealed = try ["vault", "vault.copy"].map { try Array(folder.bytes($0).suffix(60)) }
        let fingerprint = try folder.bytes("vault")[16..<32]
        try PrivateFile.write(folder.vault + ".damaged", try folder.bytes("vault"))
        let slot = try KeySlot(parsing: folder.bytes("storage.key"))
        try store.rekey(to: .raspberryPi)
        for part in sealed + [Array(fingerprint)] { #expect(try !folder.contains(part)) }
        let key = Array(Base64URL.encode(slot.fields["key"] ?? []).utf8)
        #expect(try Data(folder.bytes("storage.key")).range(of: Data(key)) == nil)
        #expect(try !folder.contains(key))
        try expectWhole(folder, "after")
    }

    @Test("is finished or dropped wherever power was cut in it")
    func cuts() throws {
        try fill(try open(folder))
        let before = try folder.copy()
        let old = try folder.bytes("storage.key")
        let (oldVault, oldCopy) = (try folder.bytes("vault"), try folder.bytes("vault.copy"))
        try open(folder).rekey(to: .raspberryPi)
        let new = try folder.bytes("storage.key")
        let half = Array(repeating: UInt8(ascii: "-"), count: old.count / 2)
            + old[(old.count / 2)...]
        let blank = [UInt8](repeating: UInt8(ascii: "-"), count: old.count)
        struct State {
            let name: String
            let origin: StateFolder
            var files: [String: [UInt8]]
        }
        // What there is in the folder after each step, and whose vault it is.
        let states = [
            State(name: "the next key is written", origin: before,
                files: ["storage.key.next": new]),
            State(name: "the next key is torn", origin: before,
                files: ["storage.key.next": Array(new.prefix(40))]),
            State(name: "the next key is empty", origin: before, files: ["storage.key.next": []]),
            State(name: "the vault has gone over", origin: folder, files: [
                "storage.key": old, "storage.key.next": new, "vault.old": oldVault,
                "vault.copy": oldCopy,
            ]),
            State(name: "the old vault is overwritten", origin: folder, files: [
                "storage.key": old, "storage.key.next": new, "vault.copy": oldCopy,
            ]),
            State(name: "the copy has gone over", origin: folder, files: [
                "storage.key": old, "storage.key.next": new, "vault.copy.old": oldCopy,
            ]),
            State(name: "the old key is half overwritten", origin: folder,
                files: ["storage.key": half, "storage.key.next": new]),
            State(name: "the old key is overwritten", origin: folder,
                files: ["storage.key": blank, "storage.key.next": new]),
            State(name: "all is done", origin: folder, files: ["storage.key": new]),
        ]
        for state in states {
            let copy = try state.origin.copy()
            for (name, bytes) in state.files {
                try PrivateFile.write(copy.path + "/" + name, bytes)
            }
            try expectWhole(copy, state.name)
            let isNew = try copy.bytes("storage.key") == new
            #expect(isNew == (state.origin === folder), "\(state.name)")
        }
    }

    @Test("that finds no source changes nothing")
    func noSource() throws {
        let store = try open(folder)
        try fill(store)
        let before = try folder.bytes("storage.key")
        firmware.secret = nil
        #expect(throws: StoreError.self) { try store.rekey(to: .raspberryPi) }
        #expect(throws: StoreError.self) { try store.rekey(to: .tpm2) }
        #expect(try folder.bytes("storage.key") == before)
        try expectWhole(folder, "unchanged")
    }

    @Test("that power was cut in is finished with a damaged vault, too",
        arguments: [false, true])
    func damage(isNext: Bool) throws {
        try fill(try open(folder))
        let before = try folder.copy()
        let old = try folder.bytes("storage.key")
        try open(folder).rekey(to: .raspberryPi)
        let new = try folder.bytes("storage.key")
        let cut = isNext ? folder : before
        try PrivateFile.write(cut.key, old)
        try PrivateFile.write(cut.key + ".next", new)
        try PrivateFile.write(cut.vault, [UInt8](repeating: 0, count: 100))
        let store = try open(cut)
        #expect(try store.load().isUnreadable)
        #expect(try store.allSequences() == Array(1...300))
        #expect(try cut.bytes("storage.key") == (isNext ? new : old))
        #expect(try !cut.names().contains("storage.key.next"))
        #expect(try open(cut).allSequences() == Array(1...300))
    }
}
