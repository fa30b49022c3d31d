import AgentCore
import BoardStore
import Gate
import LinuxIO
import Sessions
import Testing
import Wire

@testable import Board

@Suite("Board storage")
struct BoardStorageTests {
    private let ann = UserID("ann0000000")

    private func held() throws -> HeldSession {
        try HeldSession(json: JSONObject(parsing: Array("""
            {"session":{"objectId":"Session001","user":"ann0000000","restricted":true,
             "createdWith":{"action":"create","authProvider":"password"},
             "installationId":"9b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b","createdAt":1800000000,
             "expiresAt":null,"room":"attic"},
             "user":{"objectId":"ann0000000","username":"ann"},"sessionToken":"r:s",
             "accessToken":"a.b.c","refreshToken":"rt:s","scope":{"default":"deny"},
             "heartbeat":180,"offline":3600,"lastContact":1800000000,
             "pendingRefresh":"0e9c1f6a-2b7d-4c3e-9f10-a1b2c3d4e5f6"}
            """.utf8)))
    }

    private func trust() throws -> Trust {
        let key = Base64URL.encode(Array(1...32))
        return try Trust(json: JSONObject(parsing: Array("""
            {"authority":{"name":"Home","sealKey":"\(key)","signKeys":[{"kid":"k","x":"\(key)"}]},
             "broker":{"password":"p"},"firstPassword":"f","highestSequence":7,
             "provision":"0e9c1f6a-2b7d-4c3e-9f10-a1b2c3d4e5f6","session":"Session001",
             "payloadDigest":"\(key)","isAcknowledged":false,"user":"ann0000000","issuer":"Home"}
            """.utf8)))
    }

    private func write(_ sequence: Int64) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try #require(ObjectID("Session001")),
            user: try #require(ann), acceptedAt: Timestamp(milliseconds: 1_800_000_000_000),
            app: try #require(AppName("thermo")), className: try #require(ClassName("Reading")),
            topic: "t", payload: [UInt8](repeating: 7, count: 100))
    }

    @Test("makes an identity once, and finds it again")
    func identity() throws {
        let folder = try TemporaryFolder()
        let first = try BoardStorage(folder: folder.path, cryptography: Cryptographer()).load()
        #expect(first.session == nil && first.claim == nil && first.trust == nil)
        #expect(!first.isUnreadable)
        #expect(first.lastSequence == 0)
        let again = try BoardStorage(folder: folder.path, cryptography: Cryptographer()).load()
        #expect(again.identity.installation == first.identity.installation)
        #expect(again.identity.deviceKey == first.identity.deviceKey)
        #expect(again.identity.deviceSecret.matches(first.identity.deviceSecret))
    }

    @Test("gives back what was committed, all of it, after it is opened anew")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let (held, trust) = (try held(), try trust())
        let memory = BoardMemory(
            floor: Timestamp(milliseconds: 1_800_000_000_000), ended: .reuse)
        let claim = PendingClaim(
            secret: SecretBytes(Array(1...32)), expiresAt: Timestamp(milliseconds: 5000))
        let packets = (1...3).map {
            DeliveredPacket(packetID: UInt16($0), digest: UInt128($0) << 100, sequence: Int64($0))
        }
        do {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            try storage.commit([
                .session(nil), .session(held), .trust(trust), .memory(memory), .claim(claim),
                .append(try (1...3).map { try write($0) }, window: packets),
            ])
        }
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        let records = try storage.load()
        #expect(records.session?.json == held.json)
        #expect(records.trust?.json == trust.json)
        #expect(records.memory == memory)
        #expect(records.claim?.json == claim.json)
        #expect(records.lastSequence == 3)
        #expect(try storage.window() == packets)
        #expect(storage.queue.messages == 3)
        #expect(storage.queue.bytes >= 300)
        #expect(storage.queue.oldest == Timestamp(milliseconds: 1_800_000_000_000))
    }

    @Test("keeps the listed sessions and a sign-out, and reads records made before either")
    func additions() throws {
        let folder = try TemporaryFolder()
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        var held = try held()
        #expect(held.sessions == nil)
        held.sessions = [held.session]
        let trust = try trust()
        let id = try #require(MessageID("0e9c1f6a-2b7d-4c3e-9f10-a1b2c3d4e5f6"))
        let signOut = SignOut(
            session: held.session.objectID, id: id, payload: Array("{\"v\":1}".utf8))
        try storage.commit([
            .session(held), .trust(trust), .memory(BoardMemory(signOut: signOut)),
        ])
        let records = try storage.load()
        #expect(records.session?.sessions == [held.session])
        #expect(records.trust?.json == trust.json)
        #expect(records.memory.signOut == signOut)
    }

    @Test("tells whose rows there are only where the trust does not")
    func users() throws {
        let folder = try TemporaryFolder()
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        #expect(try storage.load().queueUsers.isEmpty)
        try storage.commit([.append([try write(1), try write(2)], window: [])])
        #expect(try storage.load().queueUsers == ["ann0000000"])
        try storage.commit([.trust(try trust())])
        #expect(try storage.load().queueUsers.isEmpty)
    }

    @Test("makes all changes of a commit or none")
    func atomic() throws {
        let folder = try TemporaryFolder()
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        try storage.commit([.append([try write(5)], window: [])])
        // A sequence that does not rise is refused, and the session with it.
        #expect(throws: StoreError.self) {
            try storage.commit([.session(try held()), .append([try write(5)], window: [])])
        }
        #expect(try storage.load().session == nil)
        #expect(storage.queue.messages == 1)
    }

    @Test("destroys the session, the claim, the window and the queue when it is told")
    func destruction() throws {
        let folder = try TemporaryFolder()
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        let packet = DeliveredPacket(packetID: 1, digest: 1, sequence: 1)
        try storage.commit([
            .session(try held()), .append([try write(1)], window: [packet]),
            .claim(PendingClaim(
                secret: SecretBytes(Array(1...32)), expiresAt: Timestamp(milliseconds: 0))),
        ])
        try storage.commit([.session(nil), .claim(nil), .clearWindow, .destroyQueue])
        let records = try storage.load()
        #expect(records.session == nil && records.claim == nil)
        #expect(try storage.window().isEmpty)
        #expect(storage.queue.messages == 0 && storage.queue.bytes == 0)
        #expect(storage.queue.losses.causes == [.destroyed: 1])
        #expect(records.lastSequence == 1)
    }

    /// A folder in which a board was claimed, with all that it then has.
    private func claimed() throws -> (folder: TemporaryFolder, identity: BoardIdentity) {
        let folder = try TemporaryFolder()
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        try storage.commit([
            .session(try held()), .trust(try trust()), .memory(BoardMemory()),
            .append([try write(1), try write(2)], window: []),
        ])
        return (folder, try storage.load().identity)
    }

    @Test("never takes lost records for a first start", arguments: [
        [.session], [.trust], [.identity], [.session, .trust], [.session, .trust, .memory],
        VaultRecord.allCases,
    ])
    func lostRecords(records: [VaultRecord]) throws {
        let (folder, identity) = try claimed()
        do {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            try storage.queueReader.transact(records.map { .destroy($0) })
        }
        // The second start finds the same.
        for _ in 0..<2 {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            var said: [String] = []
            let found = try storage.load { said.append($0) }
            #expect(found.isUnreadable && found.session == nil)
            #expect(found.identity.installation == identity.installation)
            #expect(found.identity.deviceSecret.matches(identity.deviceSecret))
            #expect(said.contains { $0.contains("pair this board again") })
        }
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        try storage.commit([
            .session(nil), .session(try held()), .trust(try trust()), .memory(BoardMemory()),
        ])
        let healed = try BoardStorage(
            folder: folder.path, cryptography: Cryptographer()).load()
        #expect(!healed.isUnreadable && healed.session != nil)
        #expect(healed.identity.installation == identity.installation)
        #expect(try storage.queueReader.read(.identity) != nil)
    }

    @Test("of a board that was claimed and never wrote is unreadable by the copy alone")
    func lostLog() throws {
        let folder = try TemporaryFolder()
        do {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            #expect(try !storage.load().isUnreadable)
            try storage.commit([.session(try held()), .trust(try trust())])
            try storage.queueReader.transact([.destroy(.session), .destroy(.trust)])
        }
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        #expect(try storage.load().isUnreadable)
    }

    @Test("makes no second identity where the database is gone", arguments: [true, false])
    func goneDatabase(hasCopy: Bool) throws {
        let (folder, identity) = try claimed()
        let names = ["board.db", "board.db-wal", "board.db-shm"]
        for name in names + (hasCopy ? [] : ["identity.copy"]) {
            try PrivateFile.remove(folder.path + "/" + name)
        }
        #expect(BoardDatabase.exists(in: folder.path))
        #expect(throws: StoreError.self) {
            _ = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        }
        let key = KeyFile(folder: folder.path)
        guard hasCopy else {
            #expect(throws: StoreError.self) {
                _ = try BoardDatabase.salvage(
                    folder: folder.path, keySource: key, at: Timestamp(milliseconds: 1))
            }
            return
        }
        // Twice: the numbers of neither database are given once more.
        var last: Int64 = 0
        for time in 1...2 {
            let report = try BoardDatabase.salvage(
                folder: folder.path, keySource: key, at: Timestamp(milliseconds: Int64(time)))
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            let found = try storage.load()
            #expect(found.identity.installation == identity.installation)
            #expect(found.isUnreadable && found.lastSequence > last + 1_000_000_000)
            #expect(report.resumesAfter == found.lastSequence)
            #expect(storage.queue.losses.total == 0)
            last = found.lastSequence
            for name in ["board.db", "board.db-wal", "board.db-shm"] {
                try PrivateFile.remove(folder.path + "/" + name)
            }
        }
    }

    @Test("opens the copy of the identity after a new storage key, and with no other")
    func copyAndKey() throws {
        let (folder, identity) = try claimed()
        let key = KeyFile(folder: folder.path)
        do {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            try storage.queueReader.rekey(key, to: nil)
            let copy = try #require(try storage.queueReader.identityCopy())
            #expect(copy.wasClaimed)
            let read = try BoardIdentity(json: JSONObject(parsing: copy.identity.reveal()))
            #expect(read.installation == identity.installation)
        }
        let bytes = try PrivateFile.read(folder.path + "/identity.copy", limit: 8192)
        for index in stride(from: 0, to: bytes.count, by: 9) {
            var flipped = bytes
            flipped[index] ^= 1
            try PrivateFile.write(folder.path + "/identity.copy", flipped)
            let database = try BoardDatabase(folder: folder.path, keySource: key)
            #expect(try database.identityCopy() == nil)
        }
    }

    @Test("lives on without a record that cannot be read, and says which", arguments: [
        VaultRecord.claim, .trust, .memory, .session,
    ])
    func damagedRecord(record: VaultRecord) throws {
        let folder = try TemporaryFolder()
        let identity: BoardIdentity
        do {
            let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
            try storage.commit([
                .session(try held()), .trust(try trust()), .memory(BoardMemory(ended: .reuse)),
                .claim(PendingClaim(
                    secret: SecretBytes(Array(1...32)), expiresAt: Timestamp(milliseconds: 0))),
            ])
            identity = try storage.load().identity
            let damage = SecretBytes(Array("{}".utf8))
            try storage.queueReader.transact([.put(record, damage)])
        }
        let storage = try BoardStorage(folder: folder.path, cryptography: Cryptographer())
        var said: [String] = []
        let records = try storage.load { said.append($0) }
        #expect(said.count == 1)
        #expect(said.first?.contains("`\(record.rawValue)`") == true)
        #expect(records.identity.installation == identity.installation)
        #expect((records.claim == nil) == (record == .claim))
        #expect((records.trust == nil) == (record == .trust))
        #expect((records.session == nil) == (record == .session || record == .trust))
        #expect(records.isUnreadable == (record == .session || record == .trust))
        #expect(records.memory.floor == (record == .memory
            ? Release.date : Timestamp(milliseconds: 0)))
    }
}
