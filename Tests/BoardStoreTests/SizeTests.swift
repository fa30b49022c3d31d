import Foundation
import Gate
import Sessions
import Testing
@testable import BoardStore

@Suite("Size")
struct SizeTests {
    @Test("is told within 5 % of what the file takes", arguments: [
        (64, 1), (64, 7), (64, 256), (256, 1), (256, 20), (1024, 1), (1024, 3), (1400, 1),
        (2000, 2), (4096, 1), (4096, 256), (20_000, 1), (65_536, 1), (65_536, 16),
    ])
    func exact(payload: Int, batch: Int) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let empty = try store.fileBytes().used
        let base = try Sample.write(0, payload: String(repeating: "x", count: payload))
        var next: Int64 = 1
        while store.usage().bytes < 1 << 20 {
            let last = next + Int64(batch) - 1
            try store.transact([
                .append((next...last).map { base.numbered($0) })
            ])
            next = last + 1
        }
        let taken = Double(try store.fileBytes().used - empty)
        let told = Double(store.usage().bytes)
        #expect(abs(told / taken - 1) < 0.05, "\(told) told, \(taken) taken")
        // Half of it leaves, row by row.
        try store.transact([.remove(Array(1...next / 2))])
        let left = Double(try store.fileBytes().used - empty)
        #expect(abs(Double(store.usage().bytes) / left - 1) < 0.08)
    }

    @Test("of database and log stays within its bounds, and goes back after a long drain")
    func drained() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let base = try Sample.write(0, payload: String(repeating: "x", count: 8000))
        var last: Int64 = 0
        var logMost: Int64 = 0
        while store.usage().bytes < 64 << 20 {
            try store.transact([
                .append((last + 1...last + 50).map { base.numbered($0) })
            ])
            last += 50
            logMost = max(logMost, try size(folder, "-wal"))
        }
        #expect(try size(folder, "") + size(folder, "-wal") < 64 << 20 + 16 << 20)
        var position: Int64 = 0
        while case let part = try store.next(after: position, limit: 100), let end = part.last {
            position = end.sequence
            try store.transact([.remove(part.map(\.sequence))])
            logMost = max(logMost, try size(folder, "-wal"))
        }
        #expect(logMost < 8 << 20)
        #expect(store.usage().bytes == 0)
        try store.transact([.counter("any", 1)])
        #expect(try size(folder, "") + size(folder, "-wal") < 8 << 20)
        #expect(try store.integrityCheck() == [])
    }

    @Test("of the log is bounded while another process reads, by waiting for it")
    func reader() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.append([try Sample.write(1)])])
        var other: Connection? = try folder.raw()
        try other?.run("BEGIN")
        _ = try other?.number("SELECT count(*) FROM batch")
        let base = try Sample.write(0, payload: String(repeating: "x", count: 100_000))
        var last: Int64 = 1
        #expect(throws: StoreError.unavailable(.busy)) {
            while last < 400 {
                let writes = (last + 1...last + 10).map { base.numbered($0) }
                try store.transact([.append(writes)])
                last += 10
            }
        }
        #expect(try size(folder, "-wal") < 12 << 20)
        other = nil
        try store.transact([.append([try Sample.write(last + 1)])])
        #expect(try folder.open().usage().messages == last + 1)
    }

    private func size(_ folder: StateFolder, _ suffix: String) throws -> Int64 {
        let path = folder.database + suffix
        guard FileManager.default.fileExists(atPath: path) else { return 0 }
        let found = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
        return found ?? 0
    }
}
