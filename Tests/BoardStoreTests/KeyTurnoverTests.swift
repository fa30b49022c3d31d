import Foundation
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

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

    private func open(_ folder: StateFolder) throws -> BoardDatabase {
        try BoardDatabase(folder: folder.path, keySource: file(folder))
    }

    private func fill(_ store: BoardDatabase) throws {
        try store.transact([
            .put(.identity, Sample.secret("identity")), .put(.session, Sample.secret("session")),
            .append(try Sample.writes(1...300)),
            .window([WindowEntry(packetID: 3, digest: 4, sequence: 300)]),
        ])
    }

    private func expectWhole(_ folder: StateFolder, _ note: String) throws {
        for _ in 0..<2 {
            let store = try open(folder)
            #expect(try store.text(.identity) == "identity", "\(note)")
            #expect(try store.text(.session) == "session", "\(note)")
            #expect(try store.allSequences() == Array(1...300), "\(note)")
            #expect(store.takeDamaged().isEmpty, "\(note)")
            #expect(try store.integrityCheck() == [], "\(note)")
        }
        let names = try folder.names().filter { $0.hasPrefix("storage.key") }
        #expect(names == ["storage.key"], "\(note)")
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
        let (old, place) = (store.keys, folder.path + "/storage.key")
        let before = try bytes(place)
        try store.rekey(file(folder), to: tier)
        #expect(file(folder).place?.tier == tier)
        #expect(try store.text(.session) == "session")
        // Another process that holds the old vault key cannot read the new records with it.
        #expect(!store.keys.vault.secret.matches(old.vault.secret))
        #expect(!store.keys.identity.secret.matches(old.identity.secret))
        try store.transact([.put(.memory, Sample.secret("later"))])
        try expectWhole(folder, "after")
        #expect(try open(folder).text(.memory) == "later")
        try PrivateFile.write(place, before)
        #expect(throws: StoreError.keyWrong(source: place)) { try open(folder) }
    }

    @Test("binds a key that older programs wrote as 32 bytes")
    func bindsOld() throws {
        let place = folder.path + "/storage.key"
        let old = (0..<32).map { UInt8($0 &* 7) }
        try PrivateFile.touch(folder.database + ".new")
        try PrivateFile.write(place, old)
        let store = try open(folder)
        try fill(store)
        #expect(file(folder).place?.isBound == false)
        try store.rekey(file(folder), to: nil)
        #expect(file(folder).place == KeyPlace(tier: .file, name: place, isBound: true))
        try expectWhole(folder, "bound")
    }

    @Test("leaves nothing in any file that opens with the old key")
    func leavesNothing() throws {
        let store = try open(folder)
        try fill(store)
        let old = store.wrapping
        var wrapped: [[UInt8]] = [try old.fingerprint()]
        let select = try Statement(store.connection, "SELECT wrapped FROM keys")
        while try select.step() { wrapped.append(try select.bytes(0)) }
        try PrivateFile.write(folder.database + ".damaged-1", wrapped.flatMap(\.self))
        let slot = try KeySlot(parsing: bytes(folder.path + "/storage.key"))
        try store.rekey(file(folder), to: .raspberryPi)
        for part in wrapped { #expect(try !folder.contains(part)) }
        #expect(try !bytes(folder.path + "/storage.key").isEmpty)
        for name in try folder.names() {
            let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
            let key = Base64URL.encode(slot.fields["key"] ?? [])
            #expect(data.range(of: Data(key.utf8)) == nil, "\(name)")
        }
    }

    @Test("is finished or dropped wherever power was cut in it")
    func cuts() throws {
        let place = folder.path + "/storage.key"
        try fill(try open(folder))
        let before = try folder.copy()
        let old = try bytes(place)
        try open(folder).rekey(file(folder), to: .raspberryPi)
        let new = try bytes(place)
        let half = Array(repeating: UInt8(ascii: "-"), count: old.count / 2)
            + old[(old.count / 2)...]
        let blank = [UInt8](repeating: UInt8(ascii: "-"), count: old.count)
        // What stands in the folder after each step, and whose database it is.
        let states: [(String, StateFolder, key: [UInt8], next: [UInt8]?)] = [
            ("the next key is written", before, old, new),
            ("the next key is torn", before, old, Array(new.prefix(40))),
            ("the next key is empty", before, old, []),
            ("the database has gone over", folder, old, new),
            ("the old key is half overwritten", folder, half, new),
            ("the old key is overwritten", folder, blank, new),
            ("the old key is gone", folder, [], new),
            ("all is done", folder, new, nil),
        ]
        for (name, origin, key, next) in states {
            let copy = try origin.copy()
            try PrivateFile.write(copy.path + "/storage.key", key)
            if let next { try PrivateFile.write(copy.path + "/storage.key.next", next) }
            try expectWhole(copy, name)
            let isNew = try bytes(copy.path + "/storage.key") == new
            #expect(isNew == (origin === folder), "\(name)")
        }
    }

    @Test("is finished after a cut that left the database's change in the log alone")
    func cutInLog() throws {
        let store = try open(folder)
        try fill(store)
        try store.connection.emptyLog()
        let reader = try folder.raw()
        try reader.run("BEGIN; SELECT count(*) FROM keys")
        let old = try bytes(folder.path + "/storage.key")
        try store.rekey(file(folder), to: .raspberryPi)
        let copy = try folder.copy()
        #expect(try bytes(copy.database + "-wal").count > 0)
        let new = try bytes(copy.path + "/storage.key")
        for length in stride(from: 0, through: try bytes(copy.database + "-wal").count, by: 1021) {
            let cut = try copy.copy()
            let log = try bytes(cut.database + "-wal")
            try PrivateFile.write(cut.database + "-wal", Array(log.prefix(length)))
            try PrivateFile.write(cut.path + "/storage.key", old)
            try PrivateFile.write(cut.path + "/storage.key.next", new)
            try expectWhole(cut, "\(length)")
        }
    }

    @Test("that finds no source changes nothing")
    func noSource() throws {
        let store = try open(folder)
        try fill(store)
        let before = try bytes(folder.path + "/storage.key")
        firmware.secret = nil
        #expect(throws: StoreError.self) { try store.rekey(file(folder), to: .raspberryPi) }
        #expect(throws: StoreError.self) { try store.rekey(file(folder), to: .tpm2) }
        #expect(try bytes(folder.path + "/storage.key") == before)
        try expectWhole(folder, "unchanged")
    }

    @Test("whose transaction the disk does not take changes nothing")
    func fullDisk() throws {
        let path = folder.database
        try fill(try open(folder))
        FaultyDisk.plan(path, FaultyDisk.Plan())
        let store = try open(folder)
        let before = try bytes(folder.path + "/storage.key")
        FaultyDisk.plan(path, FaultyDisk.Plan(left: [.write: 0]))
        #expect(throws: StoreError.unavailable(.full)) {
            try store.rekey(file(folder), to: .raspberryPi)
        }
        FaultyDisk.plan(path, FaultyDisk.Plan())
        #expect(try bytes(folder.path + "/storage.key") == before)
        #expect(try store.text(.session) == "session")
        try store.rekey(file(folder), to: .raspberryPi)
        try expectWhole(folder, "after")
    }

    @Test("that power was cut in is finished by the salvage of a damaged database, too",
        arguments: [false, true])
    func salvage(isNext: Bool) throws {
        try fill(try open(folder))
        let before = try folder.copy()
        let old = try bytes(folder.path + "/storage.key")
        try open(folder).rekey(file(folder), to: .raspberryPi)
        let new = try bytes(folder.path + "/storage.key")
        let cut = isNext ? folder : before
        try PrivateFile.write(cut.path + "/storage.key", old)
        try PrivateFile.write(cut.path + "/storage.key.next", new)
        var header = try bytes(cut.database)
        header.replaceSubrange(0..<16, with: [UInt8](repeating: 0, count: 16))
        try PrivateFile.write(cut.database, header)
        #expect(throws: StoreError.self) { try open(cut) }
        _ = try BoardDatabase.salvage(
            folder: cut.path, keySource: file(cut), at: Timestamp(milliseconds: 5))
        try expectWhole(cut, "\(isNext)")
    }
}
