import Foundation
import LinuxIO
import Testing
@testable import BoardStore

@Suite("Power cut")
struct PowerCutTests {
    /// A log cut off at any byte, as after a power cut during its writing, gives the state
    /// after some transaction: rows, last number and vault record of the same one.
    @Test("anywhere in the log leaves the state before or after a transaction")
    func cutLog() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        var committed: [(length: Int, last: Int64)] = []
        for number in Int64(1)...12 {
            let last = number * 5
            try store.transact([
                .append(try Sample.writes(last - 4...last)),
                .put(.memory, Sample.secret("\(last)")),
                .window([WindowEntry(packetID: 1, digest: 1, sequence: last)]),
            ])
            if number == 6 { try store.transact([.put(.session, Sample.secret("session"))]) }
            committed.append((try log(folder).count, last))
        }
        let whole = try log(folder)
        for length in stride(from: 0, through: whole.count, by: 509) {
            let copy = try folder.copy()
            try PrivateFile.write(copy.database + "-wal", Array(whole.prefix(length)))
            let held = committed.last { $0.length <= length }?.last ?? 0
            try expectWhole(copy, atLeast: held)
        }
    }

    private func expectWhole(_ folder: StateFolder, atLeast held: Int64) throws {
        let store = try folder.open()
        let last = store.lastSequence
        #expect(last >= held && last % 5 == 0)
        #expect(try store.allSequences() == Array(stride(from: 1, through: last, by: 1)))
        #expect(try store.text(.memory) == (last == 0 ? nil : "\(last)"))
        #expect(try store.redeliveryWindow().last?.sequence == (last == 0 ? nil : last))
        #expect(try store.integrityCheck() == [])
    }

    private func log(_ folder: StateFolder) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: folder.database + "-wal"))
    }

    @Test("between any two transactions of a session's life keeps what was committed")
    func betweenTransactions() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        var last: Int64 = 0
        for round in 0..<30 {
            try store.transact([
                .append(try Sample.writes(last + 1...last + 40)),
                .put(.session, Sample.secret("s")),
            ])
            last += 40
            try store.transact([.remove(Array(last - 39...last - 1))])
            if round % 5 == 4 { try store.transact([.destroy(.session)]) }
            if round % 7 == 6 { try store.transact([.destroyQueue]) }
            let files = try folder.copy()
            let copy = try files.open()
            #expect(copy.lastSequence == last)
            #expect(try copy.allSequences() == store.allSequences())
            #expect(try (copy.read(.session) == nil) == (round % 5 == 4))
            #expect(try copy.integrityCheck() == [])
        }
    }

    // In an emulator no test starts itself again.
    #if !EMULATED
    @Test("by SIGKILL in the middle of appends loses nothing that was committed")
    func killed() async throws {
        for round in 0..<5 {
            let folder = try StateFolder()
            let path = folder.path
            let pause = 20 + round * 30
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, pause = pause as Int] in
                try Appender.run(in: path, killedAfter: pause)
            }
            let ledger = try String(contentsOfFile: path + "/ledger", encoding: .utf8)
            let acknowledged = ledger.split(separator: "\n").last.flatMap { Int64($0) } ?? 0
            let store = try folder.open()
            #expect(store.lastSequence >= acknowledged)
            #expect(try store.allSequences() == Array(1...max(1, store.lastSequence)))
            #expect(try store.integrityCheck() == [])
        }
    }
    #endif
}

/// The child that is killed: appends for ever and writes down each number once committed.
enum Appender {
    static func run(in folder: String, killedAfter milliseconds: Int) throws {
        let store = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
        _ = FileManager.default.createFile(atPath: folder + "/ledger", contents: nil)
        let ledger = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/ledger"))
        var next: Int64 = 1
        func append() throws {
            try store.transact([.append(try Sample.writes(next...next + 9))])
            next += 10
            try ledger.write(contentsOf: Data("\(next - 1)\n".utf8))
        }
        try append()
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
            kill(getpid(), SIGKILL)
        }
        while true { try append() }
    }
}
