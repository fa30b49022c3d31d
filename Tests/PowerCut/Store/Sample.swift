import AgentCore
import AgentStore
import Foundation
import Gate
import Sessions

/// Writes of one board under one session.
enum Sample {
    private struct Missing: Error {}

    static func write(
        _ sequence: Int64, payload: [UInt8], in className: String = "Reading"
    ) throws -> AcceptedWrite {
        AcceptedWrite(
            sequence: sequence, session: try found(ObjectID("sess000001")),
            user: try found(UserID("user000001")),
            acceptedAt: Timestamp(milliseconds: 1_700_000_000_000 + sequence),
            app: try found(AppName("thermo")), className: try found(ClassName(className)),
            operation: .create, topic: "postern/v1/x/data/Reading/create", payload: payload)
    }

    static func key(_ digest: UInt64, _ sequence: Int64) -> KeptKey {
        KeptKey(digest: UInt128(digest), sequence: sequence)
    }

    /// Of a segment; `POSTERN_SEGMENT` names another size.
    static var segmentBytes: Int {
        ProcessInfo.processInfo.environment["POSTERN_SEGMENT"].flatMap { Int($0) } ?? 16_384
    }

    /// The same for each: what it is, is told by nobody.
    static func identity() throws(StoreError) -> BoardIdentity {
        BoardIdentity(
            installation: InstallationID(random: Array(1...16)),
            deviceSecret: SecretBytes(Array(1...32)), deviceKey: Array(1...32))
    }

    private static func found<T>(_ value: T?) throws -> T {
        guard let value else { throw Missing() }
        return value
    }
}

/// Random numbers that a seed decides.
///
/// Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014
/// (SplitMix64).
struct Lot {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}
