import Glibc

/// A configuration that stands in the repository.
enum SampleFile {
    private static let root = #filePath.split(separator: "/").dropLast(4)
        .map { "/\($0)" }.joined()

    /// The text of a file under the repository's root; nil where it cannot be read.
    static func text(_ path: String) -> String? {
        let file = unsafe open("\(root)/\(path)", O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe Glibc.read(file, buffer.baseAddress, buffer.count)
        }
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
