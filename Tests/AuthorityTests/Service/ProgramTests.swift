import Foundation
import FreePorts
import Sessions
import Testing

/// The built program, as a person starts it.
@Suite("postern-authority", .serialized)
struct ProgramTests {
    @Test("is made once, says so the second time, and lists whom it knows")
    func initialisation() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        #expect(try await place.initialise("eve") == 2)
        #expect(try await place.run("user", "list") == 0)
        #expect(try await place.run(
            "user", "add", "bob", "--claim", "--password-file", place.password) == 0)
        #expect(try await place.run("user", "add", "bob", "--password-file", place.password) == 2)
        for word in ["show", "disable", "enable"] {
            #expect(try await place.run("user", word, "bob", "--json") == 0)
        }
        for word in ["deny", "allow"] {
            #expect(try await place.run("user", word, "bob", "claim") == 0)
        }
        #expect(try await place.run("user", "allow", "bob", "fly") == 2)
        #expect(try await place.run("user", "allow", "nobody", "claim") == 2)
        #expect(try await place.run(
            "user", "password", "bob", "--password-file", place.password) == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: place.state)
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: "\(place.state)/\(file)")
            let mode = attributes[.posixPermissions] as? Int
            #expect(mode.map { $0 & 0o077 } == 0, "\(file)")
        }
    }

    @Test("without having been made, with an unknown key or an open folder, names its code")
    func refusals() async throws {
        let place = try Place()
        #expect(try await place.run("serve") == 2)
        try place.configure("colour = \"green\"\n")
        #expect(try await place.run("serve") == 78)
        try place.configure("")
        try FileManager.default.createDirectory(
            atPath: place.state, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755])
        #expect(try await place.initialise() == 77)
    }

    @Test("serves once from a folder, with other commands beside it", .timeLimit(.minutes(5)))
    func second() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        let (first, log) = try place.start("serve")
        try await untilTrue { try place.text(log).contains("ready\n") }
        let (second, said) = try place.start("serve")
        try await untilTrue { !second.isRunning }
        #expect(second.terminationStatus == 1)
        #expect(try place.text(said).contains("another postern-authority runs with"))
        #expect(try await place.run("user", "list") == 0)
        #expect(first.isRunning)
        kill(first.processIdentifier, SIGTERM)
        try await untilTrue { try !first.isRunning && place.brokers().isEmpty }
    }

    @Test("ends at SIGTERM, and leaves no broker then or after SIGKILL",
          .timeLimit(.minutes(5)))
    func ending() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        for signal in [SIGTERM, SIGKILL, SIGKILL, SIGTERM] {
            let (process, log) = try place.start("serve")
            try await untilTrue { try place.text(log).contains("ready\n") }
            kill(process.processIdentifier, signal)
            try await untilTrue { !process.isRunning }
            if signal == SIGTERM { #expect(process.terminationStatus == 0) }
            try await untilTrue { try place.brokers().isEmpty }
        }
    }
}

/// A configuration folder and a state folder, and the program run on them.
final class Place {
    let folder: TemporaryFolder
    let password: String
    let ports: (http: UInt16, broker: UInt16)

    init() throws {
        folder = try TemporaryFolder()
        password = "\(folder.path)/password"
        ports = (try FreePort.next(), try FreePort.next())
        try Data("correct horse battery\n".utf8).write(to: URL(fileURLWithPath: password))
        try configure("")
    }

    var state: String { "\(folder.path)/state" }

    func configure(_ more: String) throws {
        let text = """
            state_dir = "\(state)"
            \(more)
            [http]
            listen = "127.0.0.1:\(ports.http)"
            [broker]
            listen = "127.0.0.1:\(ports.broker)"
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/authority.toml"))
    }

    func initialise(_ administrator: String = "ada") async throws -> Int32 {
        try await run("init", "--admin", administrator, "--password-file", password)
    }

    func run(_ arguments: String...) async throws -> Int32 {
        try await start(arguments).0.end()
    }

    func start(_ arguments: String...) throws -> (Process, log: String) {
        try start(arguments)
    }

    func start(_ arguments: [String]) throws -> (Process, log: String) {
        let log = "\(folder.path)/\(UUID().uuidString).log"
        let process = try BuiltProgram.start(
            ["--config-dir", folder.path] + arguments, log: log)
        return (process, log)
    }

    func text(_ log: String) throws -> String { try String(contentsOfFile: log, encoding: .utf8) }

    /// The processes whose arguments name our state folder.
    func brokers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard Int32(name) != nil,
                let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
            else { return false }
            return line.range(of: Data("\(state)/broker".utf8)) != nil
        }
    }
}
