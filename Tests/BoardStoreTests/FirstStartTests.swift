import Foundation
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

@Suite("First start")
struct FirstStartTests {
    private let noon = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("makes folder, key and database that nobody else may read")
    func fresh() throws {
        let parent = try StateFolder()
        let folder = parent.path + "/state"
        #expect(!BoardDatabase.exists(in: folder))
        let store = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
        #expect(BoardDatabase.exists(in: folder))
        #expect(store.lastSequence == 0)
        let manager = FileManager.default
        for (path, mode) in [
            (folder, 0o700), (folder + "/board.db", 0o600), (folder + "/storage.key", 0o600),
            (folder + "/board.db-wal", 0o600), (folder + "/board.db-shm", 0o600),
        ] {
            let found = try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(found == mode, "\(path)")
        }
    }

    @Test("is refused where others may read", arguments: [
        ("", 0o750), ("board.db", 0o640), ("storage.key", 0o604), ("board.db-wal", 0o660),
    ])
    func looseModes(name: String, mode: Int) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.put(.identity, Sample.secret("identity"))])
        try folder.setMode(mode, of: name)
        let failure = #expect(throws: StoreError.self) { try folder.open() }
        guard case .unsafePermissions = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("is not taken for granted when the key is missing, wrong or short")
    func keys() throws {
        let folder = try StateFolder()
        try folder.open().transact([.put(.identity, Sample.secret("identity"))])
        let key = folder.path + "/storage.key"
        let right = try Data(contentsOf: URL(fileURLWithPath: key))
        try FileManager.default.removeItem(atPath: key)
        #expect(throws: StoreError.keyMissing(source: key)) { try folder.open() }
        for wrong in [[UInt8](repeating: 7, count: 32), (0..<32).map { UInt8($0) }] {
            try PrivateFile.write(key, wrong)
            #expect(throws: StoreError.keyWrong(source: key)) { try folder.open() }
        }
        for short in [[UInt8](repeating: 7, count: 31), []] {
            try PrivateFile.write(key, short)
            let reason = "it is damaged, or no storage key of this program"
            #expect(throws: StoreError.keyRefused(source: key, reason: reason)) {
                try folder.open()
            }
        }
        try PrivateFile.write(key, Array(right))
        #expect(try folder.open().text(.identity) == "identity")
    }

    @Test("refuses a newer schema by its number and changes nothing")
    func newer() throws {
        let folder = try StateFolder()
        _ = try folder.open()
        try folder.raw().run("PRAGMA user_version=9")
        #expect(throws: StoreError.newerSchema(found: 9, known: 2)) { try folder.open() }
    }

    @Test("does not mistake damage or loss for itself; set aside, a new database begins",
        arguments: ["empty", "zeros", "text", "gone", "halved"])
    func damage(kind: String) throws {
        let folder = try StateFolder()
        try folder.open().transact([
            .put(.identity, Sample.secret("identity")), .append(try Sample.writes(1...500)),
        ])
        let whole = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        switch kind {
        case "empty": try PrivateFile.write(folder.database, [])
        case "zeros": try PrivateFile.write(folder.database, Array(repeating: 0, count: 50_000))
        case "text": try PrivateFile.write(folder.database, Array(repeating: 65, count: 50_000))
        case "halved": try PrivateFile.write(folder.database, Array(whole.prefix(6000)))
        default: try PrivateFile.remove(folder.database)
        }
        let failure = #expect(throws: StoreError.self) { try folder.open() }
        guard case .unreadable = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(throws: StoreError.self) { try folder.open() }
        try BoardDatabase.setAside(in: folder.path, at: noon)
        let store = try folder.open()
        #expect(try store.read(.identity) == nil)
        let kept = try folder.names().contains("board.db.damaged-\(noon.milliseconds)")
        #expect(kept == (kind != "gone"))
    }

    @Test("is resumed wherever power was cut in it")
    func interrupted() throws {
        // The marker alone; the marker and the key; all but the last rename.
        for step in 0...2 {
            let folder = try StateFolder()
            try PrivateFile.touch(folder.path + "/board.db.new")
            if step >= 1 { _ = try KeyFile(folder: folder.path).create() }
            if step == 2 {
                _ = try folder.open()
                try PrivateFile.move(folder.database, to: folder.path + "/board.db.new")
            }
            try folder.open().transact([.put(.identity, Sample.secret("identity"))])
            #expect(try folder.open().text(.identity) == "identity")
        }
    }

    @Test("by many at once makes one database and one key")
    func race() async throws {
        let folder = try StateFolder()
        let path = folder.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let store = try BoardDatabase(folder: path, keySource: KeyFile(folder: path))
                    let record = VaultRecord.allCases[number % VaultRecord.allCases.count]
                    try store.transact([.put(record, Sample.secret("\(record)"))])
                }
            }
            try await group.waitForAll()
        }
        let store = try folder.open()
        for record in VaultRecord.allCases {
            #expect(try store.text(record) == "\(record)")
        }
        #expect(try store.integrityCheck() == [])
    }
}
