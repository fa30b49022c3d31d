import ArgumentParser
import LinuxIO
import Sessions

/// Where a password comes from: a file, standard input, or the person. Never the command
/// line, which other users of the machine can read.
struct PasswordSource: ParsableArguments {
    @Option(help: ArgumentHelp(
        "The file that holds the password; - for standard input. Asked for without it.",
        valueName: "file"))
    var passwordFile: String?

    private static let limit = 1024

    /// The password without the newline that ends it.
    func read(prompt: String, in surroundings: Surroundings) throws(CommandFailure) -> SecretBytes {
        var bytes: [UInt8]
        switch passwordFile {
        case nil:
            guard let typed = try surroundings.secret(prompt) else {
                throw .usage("no password was given")
            }
            bytes = typed
        case "-":
            guard let read = try surroundings.input(Self.limit) else {
                throw .usage("the password has more than \(Self.limit) bytes")
            }
            bytes = read
        case .some(let path): bytes = try file(path, in: surroundings)
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .usage("the password is empty") }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw .usage("the password is not UTF-8")
        }
        return SecretBytes(bytes)
    }

    /// A file that others may write to is refused, one that they may read is named.
    private func file(
        _ path: String, in surroundings: Surroundings
    ) throws(CommandFailure) -> [UInt8] {
        do throws(FileFailure) {
            do throws(FileFailure) {
                return try PrivateFile.read(path, limit: Self.limit)
            } catch .tooOpen {
                let bytes = try PrivateFile.read(path, limit: Self.limit, strictestMode: 0o755)
                surroundings.note("note: others can read \(path); chmod 600 it")
                return bytes
            }
        } catch {
            throw .configuration(error.description)
        }
    }
}
