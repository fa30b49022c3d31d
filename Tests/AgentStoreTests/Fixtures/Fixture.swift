import AgentCore
@testable import AgentStore
import Foundation
import Gate
import LinuxIO
import Sessions

/// A state folder of its own, removed with its owner.
final class StateFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "postern-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var vault: String { path + "/vault" }
    var key: String { path + "/storage.key" }
    var outbox: String { path + "/outbox" }

    /// Small segments, so that a few writes have several.
    func open(segmentBytes: Int = 65_536) throws -> BoardStore {
        try BoardStore(
            folder: path, keyFile: KeyFile(folder: path), segmentBytes: segmentBytes,
            founding: Sample.identity)
    }

    /// A copy of all files as they are now, as after a power cut.
    func copy() throws -> StateFolder {
        let other = try StateFolder()
        for name in try names() {
            try FileManager.default.copyItem(
                atPath: path + "/" + name, toPath: other.path + "/" + name)
        }
        return other
    }

    /// The files of the folder and of the outbox in it, by their paths from here.
    func files() throws -> [String] {
        let inner = (try? FileManager.default.contentsOfDirectory(atPath: outbox)) ?? []
        return try names().filter { $0 != "outbox" } + inner.sorted().map { "outbox/" + $0 }
    }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// The paths of the segments, the oldest first.
    func segments() throws -> [String] {
        try files().filter { $0.hasPrefix("outbox/0") }.map { path + "/" + $0 }
    }

    func bytes(_ name: String) throws -> [UInt8] {
        let path = name.hasPrefix("/") ? name : path + "/" + name
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Whether the bytes stand in any file but the storage key's.
    func contains(_ bytes: [UInt8]) throws -> Bool {
        try files().contains { name in
            try name != "storage.key" && Data(self.bytes(name)).range(of: Data(bytes)) != nil
        }
    }

    func contains(_ text: String) throws -> Bool { try contains(Array(text.utf8)) }

    func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: path + "/" + name)
    }
}

/// Writes and records with a content that a search can find.
enum Sample {
    static func write(
        _ sequence: Int64, payload: String? = nil, at time: Int64? = nil,
        in className: String = "Reading", session: String = "sess000001"
    ) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try require(ObjectID(session)),
            user: try require(UserID("user000001")),
            acceptedAt: Timestamp(milliseconds: time ?? 1_700_000_000_000 + sequence),
            app: try require(AppName("thermo")), className: try require(ClassName(className)),
            operation: .create, topic: "postern/v1/x/data/Reading/create",
            payload: Array((payload ?? "payload-in-clear-\(sequence)").utf8))
    }

    static func writes(_ range: ClosedRange<Int64>) throws -> [AcceptedWrite] {
        try range.map { try write($0) }
    }

    static func packets(_ range: ClosedRange<Int64>) -> [DeliveredPacket] {
        range.map {
            DeliveredPacket(
                packetID: UInt16(truncatingIfNeeded: $0), digest: UInt128($0) << 70, sequence: $0)
        }
    }

    static func keys(_ range: ClosedRange<Int64>) -> [KeptKey] {
        range.map { KeptKey(digest: UInt128($0) << 65 | 7, sequence: $0) }
    }

    static func secret(_ text: String) -> SecretBytes { SecretBytes(Array(text.utf8)) }

    /// The same for each folder.
    static func identity() throws(StoreError) -> BoardIdentity {
        BoardIdentity(
            installation: InstallationID(random: Array(1...16)),
            deviceSecret: SecretBytes(Array(1...32)), deviceKey: Array(1...32))
    }

    static func claim(_ seed: UInt8) -> PendingClaim {
        PendingClaim(
            secret: SecretBytes([UInt8](repeating: seed, count: 32)),
            expiresAt: Timestamp(milliseconds: 1_700_000_000_000))
    }

    static func memory(_ seconds: Int64) -> BoardMemory {
        BoardMemory(floor: Timestamp(milliseconds: seconds * 1000))
    }

    private struct Missing: Error {}

    private static func require<T>(_ value: T?) throws -> T {
        guard let value else { throw Missing() }
        return value
    }
}

extension BoardStore {
    func append(
        _ writes: [AcceptedWrite], window: [DeliveredPacket] = [], keys: [KeptKey] = []
    ) throws(StoreError) {
        try commit([.append(writes, window: window, keys: keys)])
    }

    /// Drops what was accepted from `start` to before `end`.
    func expire(_ start: Int64, _ end: Int64, sparing: Set<Int64> = []) throws(StoreError) {
        let span = Timestamp(milliseconds: start)..<Timestamp(milliseconds: end)
        try commit([.expire(span)], sparing: sparing)
    }

    func allSequences() throws(StoreError) -> [Int64] {
        var all: [Int64] = []
        while case let part = try next(after: all.last ?? 0, limit: 100), !part.isEmpty {
            all += part.map(\.sequence)
        }
        return all
    }

    /// Puts a record as it is: the vault knows of no form.
    func put(_ record: VaultRecord, _ text: String) throws(StoreError) {
        try vault.change { $0.records[record] = Sample.secret(text) }
    }

    func text(_ record: VaultRecord) -> String? {
        secret(record).map { String(decoding: $0.reveal(), as: UTF8.self) }
    }
}

extension AcceptedWrite {
    /// The same under another sequence; the payload is not copied.
    func numbered(_ sequence: Int64) -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: session, user: user, acceptedAt: acceptedAt, app: app,
            className: className, operation: operation, topic: topic, payload: payload)
    }
}

/// Random numbers that come again. Source: prng.di.unimi.it/splitmix64.c.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
