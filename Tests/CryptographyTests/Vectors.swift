import Foundation
import Testing

import Cryptography

/// Published test vectors, which stand beside the package and not in it.
enum Vectors {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/vectors")

    /// What the file holds, or nil, said aloud, when it is not there.
    static func load<File: Decodable>(_ name: String, as type: File.Type) throws -> File? {
        let file = folder.appending(path: name)
        guard FileManager.default.fileExists(atPath: file.path) else {
            print("skipped: no ../shared/vectors/\(name)")
            return nil
        }
        return try JSONDecoder().decode(type, from: Data(contentsOf: file))
    }
}

/// Bytes that a vector file or a test writes in hexadecimal.
struct Hex: Decodable, Equatable, ExpressibleByStringLiteral {
    let bytes: [UInt8]

    init(stringLiteral text: String) { bytes = Self.parse(text) ?? [] }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        bytes = try #require(Self.parse(text))
    }

    private static func parse(_ text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }
}

/// A file in the form of Project Wycheproof.
struct Wycheproof<Group: Decodable>: Decodable {
    let testGroups: [Group]
}

/// A generator that gives the same numbers in each run: SplitMix64.
struct FixedRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func bytes(_ counts: ClosedRange<Int>) -> [UInt8] {
        let count = Int.random(in: counts, using: &self)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}

/// The bytes with one bit turned.
func flipped(_ bytes: [UInt8], bit: Int) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    return bytes
}

/// The error that `body` throws, or nil.
func failure<R>(_ body: () throws -> R) -> CryptographyError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? CryptographyError
    }
}
