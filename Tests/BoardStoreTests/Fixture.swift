import Foundation
import Gate
import Sessions
@testable import BoardStore

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

    var database: String { path + "/board.db" }

    func open() throws -> BoardDatabase {
        try BoardDatabase(folder: path, keySource: KeyFile(folder: path))
    }

    /// A copy of all files as they are now, as after a power cut.
    func copy() throws -> StateFolder {
        let other = try StateFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(
                atPath: path + "/" + name, toPath: other.path + "/" + name)
        }
        return other
    }

    /// Everything that stands in any file, for a search.
    func allBytes() throws -> Data {
        try FileManager.default.contentsOfDirectory(atPath: path)
            .filter { $0 != "storage.key" && !$0.hasSuffix("-shm") }
            .reduce(into: Data()) { all, name in
                all += try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
            }
    }

    func contains(_ bytes: [UInt8]) throws -> Bool {
        try allBytes().range(of: Data(bytes)) != nil
    }

    func contains(_ text: String) throws -> Bool { try contains(Array(text.utf8)) }

    /// A second connection, past the store's own code.
    func raw() throws -> Connection { try Connection(database) }

    func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: path + "/" + name)
    }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}

/// Writes and secrets with a content that a search can find.
enum Sample {
    static func write(
        _ sequence: Int64, payload: String? = nil, at time: Int64? = nil,
        in className: String = "Reading"
    ) throws -> AcceptedWrite {
        let session = try require(ObjectID("sess000001"))
        return AcceptedWrite(
            sequence: sequence, session: session, user: try require(UserID("user000001")),
            acceptedAt: Timestamp(milliseconds: time ?? 1_700_000_000_000 + sequence),
            app: try require(AppName("thermo")), className: try require(ClassName(className)),
            topic: "postern/v1/x/data/Reading/create",
            payload: Array((payload ?? "payload-in-clear-\(sequence)").utf8))
    }

    static func writes(_ range: ClosedRange<Int64>) throws -> [AcceptedWrite] {
        try range.map { try write($0) }
    }

    static func secret(_ text: String) -> SecretBytes { SecretBytes(Array(text.utf8)) }

    private struct Missing: Error {}

    private static func require<T>(_ value: T?) throws -> T {
        guard let value else { throw Missing() }
        return value
    }
}

extension BoardDatabase {
    func text(_ record: VaultRecord) throws -> String? {
        try read(record).map { String(decoding: $0.reveal(), as: UTF8.self) }
    }

    func allSequences() throws -> [Int64] {
        var all: [Int64] = []
        while case let part = try next(after: all.last ?? 0, limit: 100), !part.isEmpty {
            all += part.map(\.sequence)
        }
        return all
    }
}

extension AcceptedWrite {
    /// The same under another sequence; the payload is not copied.
    func numbered(_ sequence: Int64) -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: session, user: user, acceptedAt: acceptedAt, app: app,
            className: className, topic: topic, payload: payload)
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
