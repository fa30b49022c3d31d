import ConfigurationFiles
import Gate
import Glibc
import Testing

@Suite("Sample policies")
struct SamplePolicyTests {
    private static let folder = #filePath.split(separator: "/").dropLast(4)
        .map { "/\($0)" }.joined() + "/Provisioning/policies"

    @Test("load", arguments: ["open", "sensors", "silent"])
    func load(name: String) throws {
        let text = try #require(Self.read("\(Self.folder)/\(name).toml"))
        #expect(try PolicyFile.parse(text, file: name).rules.isEmpty == false)
    }

    private static func read(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe Glibc.read(file, buffer.baseAddress, buffer.count)
        }
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
