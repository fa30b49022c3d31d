import Foundation
import Oracles
import Testing

/// The inputs that the fuzzers keep, tried without one: each that once broke something is among
/// them.
@Suite("Fuzz corpus")
struct CorpusTests {
    private static func inputs(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fuzz/Corpus/\(target)")
        return try FileManager.default
            .contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }

    @Test("finds nothing wrong with the payload scanner")
    func payload() throws {
        let inputs = try Self.inputs("payload")
        #expect(inputs.count > 10)
        for (name, bytes) in inputs {
            #expect(PayloadOracle.complaint(about: bytes) == nil, "\(name)")
        }
    }

    @Test("finds nothing wrong with topics and filters")
    func topic() throws {
        let inputs = try Self.inputs("topic")
        #expect(inputs.count > 10)
        for (name, bytes) in inputs {
            #expect(TopicOracle.complaint(about: bytes) == nil, "\(name)")
        }
    }

    @Test("finds nothing wrong with policies, scopes and settings")
    func policy() throws {
        let inputs = try Self.inputs("policy")
        #expect(inputs.count > 10)
        for (name, bytes) in inputs {
            #expect(PolicyOracle.complaint(about: bytes) == nil, "\(name)")
        }
    }

    @Test("finds nothing wrong with the reader of passkeys' answers")
    func webAuthn() throws {
        let inputs = try Self.inputs("webauthn")
        #expect(inputs.count > 10)
        for (name, bytes) in inputs {
            #expect(WebAuthnOracle.complaint(about: bytes) == nil, "\(name)")
        }
    }
}
