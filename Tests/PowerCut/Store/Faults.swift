import Foundation

/// Lets this program's own calls fail, by the file that `recorder/faults.h` reads.
struct Faults {
    enum Kind: String {
        /// From a call on nothing has room any more.
        case full
        /// One sync fails.
        case sync

        fileprivate var letter: Character { self == .full ? "F" : "S" }
    }

    private struct Unnamed: Error {}
    private let file: FileHandle

    init() throws {
        guard let path = ProcessInfo.processInfo.environment["POSTERN_FAULTS"] else {
            throw Unnamed()
        }
        file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    }

    /// From now on; so many calls that could fail pass before.
    func begin(_ kind: Kind, after passing: Int) throws {
        try write([UInt32(kind.letter.asciiValue ?? 0), UInt32(passing), 0])
    }

    /// Returns how many calls have failed since `begin`.
    func end() throws -> Int {
        try file.seek(toOffset: 0)
        let bytes = try file.read(upToCount: 12) ?? Data()
        try write([0, 0, 0])
        return bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private func write(_ numbers: [UInt32]) throws {
        try file.seek(toOffset: 0)
        let bytes = numbers.flatMap { number in
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        try file.write(contentsOf: Data(bytes))
    }
}
