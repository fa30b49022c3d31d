import AgentCore
@testable import AgentStore
import Gate
import LinuxIO
import Sessions
import Testing
import Wire

@Suite("Vault")
struct VaultTests {
    @Test("gives back every record after a restart", arguments: VaultRecord.allCases)
    func roundTrip(record: VaultRecord) throws {
        let folder = try StateFolder()
        try folder.open().put(record, "secret of \(record)")
        #expect(try folder.open().text(record) == "secret of \(record)")
        for other in VaultRecord.allCases where other != record && other != .identity {
            #expect(try folder.open().secret(other) == nil)
        }
    }

    @Test("gives the agent the records that it was given")
    func records() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.commit([.claim(Sample.claim(7)), .memory(Sample.memory(60))])
        var said: [String] = []
        let records = try folder.open().load { said.append($0) }
        #expect(said.isEmpty && !records.isUnreadable)
        #expect(records.identity.deviceSecret.matches(SecretBytes(Array(1...32))))
        #expect(records.claim?.secret.matches(Sample.claim(7).secret) == true)
        #expect(records.memory == Sample.memory(60))
        try store.commit([.claim(nil), .memory(Sample.memory(61))])
        #expect(try folder.open().load().claim == nil)
        #expect(try folder.open().load().memory == Sample.memory(61))
    }

    @Test("keeps the commands that were taken, answers of any depth included")
    func commands() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let deep = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        let id = "6f0f2ab1-8b3c-4f5e-9a55-0d2c4a1f9e11"
        let result = JSONValue.string(
            #"{"type":"command.result","state":"answered","answer":\#(deep),"re":"\#(id)","#
                + #""sessionId":"Session001"}"#).text
        let commands = try TakenCommands(json: JSONObject(parsing: Array(#"""
            {"floor":7,"taken":[{"id":"\#(id)","app":"heater","session":"Session001",
            "deadline":1800000000,"digest":"AAEC","confirmed":true,"result":\#(result)}]}
            """#.utf8)))
        try store.commit([.commands(commands)])
        #expect(try folder.open().load().commands == commands)
        #expect(commands.all.first?.answerDigest == [0, 1, 2] && commands.floor.seconds == 7)
        try store.commit([.commands(TakenCommands())])
        #expect(try folder.open().secret(.commands) == nil)
        #expect(try folder.open().load().commands.isEmpty)
    }

    @Test("starts without the commands if they cannot be read, and takes none for a day")
    func unreadableCommands() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.commit([.memory(Sample.memory(4_000_000_000))])
        try store.put(.commands, "no JSON")
        var reports: [String] = []
        let records = try folder.open().load { reports.append($0) }
        #expect(records.commands.all.isEmpty)
        #expect(records.commands.floor == Timestamp(seconds: 4_000_000_000 + 86_700))
        #expect(reports.count == 1)
    }

    @Test("overwrites a record")
    func overwrite() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.put(.session, "first")
        try store.put(.session, String(repeating: "x", count: 9000))
        #expect(try folder.open().secret(.session)?.count == 9000)
    }

    @Test("keeps no record in clear, in no file")
    func nothingInClear() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        for record in VaultRecord.allCases { try store.put(record, "r:token-in-clear-\(record)") }
        try store.commit([.destroyQueue])
        #expect(try !folder.contains("token-in-clear"))
    }

    @Test("names a record that is not as the agent wrote it")
    func malformed() throws {
        let folder = try StateFolder()
        try folder.open().put(.memory, "no JSON")
        #expect(throws: StoreError.corrupt("vault record memory")) { try folder.open().load() }
    }

    @Test("is one text of bytes, which gives its content back, and any others none or another")
    func coding() throws {
        var content = VaultContent(queue: try .fresh(generation: 3))
        content.records[.identity] = Sample.secret("identity")
        content.records[.memory] = Sample.secret("")
        content.queue.last = 77
        content.queue.givenUp.insert(3...9)
        content.queue.ledger.losses.lose(3...9, .full)
        let bytes = try content.withBytes { $0 }
        let again = try #require(VaultContent(bytes))
        #expect(try again.withBytes { $0 } == bytes)
        for length in 0..<bytes.count {
            #expect(VaultContent(Array(bytes.prefix(length))) == nil)
            var changed = bytes
            changed[length] ^= 0xFF
            _ = VaultContent(changed)
        }
    }

    @Test("that lost its name is noticed before anything is promised")
    func place() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.checkPlace()
        try PrivateFile.remove(folder.vault)
        #expect(throws: StoreError.self) { try store.checkPlace() }
    }
}

@Suite("Destruction")
struct DestructionTests {
    @Test("of a session leaves no byte of its old record in any file")
    func session() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.put(.session, "old")
        let sealed = try Array(folder.bytes("vault").dropFirst(32))
        #expect(try folder.contains(sealed))
        try store.commit([.session(nil)])
        #expect(try !folder.contains(sealed) && !folder.contains(Array(sealed.suffix(40))))
        #expect(try folder.names().filter { $0.hasPrefix("vault") } == ["vault", "vault.copy"])
        #expect(store.secret(.session) == nil && store.secret(.identity) != nil)
        try store.put(.session, "new")
        #expect(try folder.open().text(.session) == "new")
    }

    @Test("that power was cut in is finished at the next start")
    func interrupted() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.put(.session, "old")
        let old = try folder.bytes("vault")
        try store.commit([.session(nil)])
        // The new file has its name, and the old one is not overwritten yet.
        try PrivateFile.write(folder.vault + ".old", old)
        let again = try folder.open()
        #expect(again.secret(.session) == nil)
        #expect(try !folder.contains(Array(old.suffix(40))))
        // The old file has a second name, and the new one none yet.
        try PrivateFile.link(folder.vault, as: folder.vault + ".old")
        let third = try folder.open()
        #expect(try third.load().identity.deviceKey == Array(1...32))
        #expect(try !folder.names().contains("vault.old"))
    }

    @Test("of the queue leaves no key and no byte of it, but numbers, losses and window")
    func queue() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3000), window: Sample.packets(2999...3000))
        try store.bury([DeadLetterRequest(sequence: 7, reason: "")])
        try store.put(.session, "session")
        let segment = try folder.bytes(try #require(try folder.segments().first))
        let letters = try folder.bytes(
            try #require(try folder.files().first { $0.contains("dead-") }))
        let vault = try folder.bytes("vault")
        let key = store.queue.key
        let old = [segment[4096..<4160], letters[64..<96], vault[64..<96]].map { Array($0) }
        for part in old { #expect(try folder.contains(part)) }

        try store.commit([.destroyQueue])

        for part in old { #expect(try !folder.contains(part)) }
        #expect(!store.queue.key.matches(key))
        var usage = QueueState()
        usage.losses.lose(7...7, .dead)
        usage.losses.lose(1...3000, .destroyed)
        for store in [store, try folder.open()] {
            #expect(store.usage == usage)
            #expect(store.lastSequence == 3000)
            #expect(store.window == Sample.packets(2999...3000))
            #expect(try store.allSequences() == [])
            #expect(store.text(.session) == "session")
            #expect(try store.verify() == [])
        }
        try store.append([try Sample.write(3001)])
        #expect(try folder.open().allSequences() == [3001])
    }

    @Test("of the queue with a record is one change")
    func together() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...10))
        try store.commit([.claim(Sample.claim(1)), .destroyQueue, .memory(Sample.memory(9))])
        let again = try folder.open()
        #expect(again.usage.messages == 0)
        #expect(try again.load().memory == Sample.memory(9))
        #expect(try again.load().claim != nil)
    }
}
