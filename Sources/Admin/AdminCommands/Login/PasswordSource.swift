import ArgumentParser
import Sessions

/// The source of a password: a file, standard input, or a prompt. Never the command line, which
/// other users of the machine can read.
struct PasswordSource: ParsableArguments {
    @Option(help: ArgumentHelp(
        "The file with the password; - for standard input. Without it, the command asks.",
        valueName: "file"))
    var passwordFile: String?

    /// The password, without a final newline.
    func read(
        prompt: String, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> SecretBytes {
        try SecretText.read(passwordFile, "password", prompt: prompt, in: surroundings)
    }

    /// Reads a new password. The prompt comes twice, because the user cannot see the typed text.
    func readNew(
        prompt: String, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> SecretBytes {
        let first = try read(prompt: prompt, in: surroundings)
        guard passwordFile == nil else { return first }
        let second = try read(prompt: "Repeat it: ", in: surroundings)
        guard first.matches(second) else { throw .usage("the two passwords differ") }
        return first
    }
}

/// The source of the present password, for a command that needs two.
struct OldPasswordSource: ParsableArguments {
    @Option(help: ArgumentHelp(
        "The file with the present password; - for standard input. Without it, the command asks.",
        valueName: "file"))
    var oldPasswordFile: String?

    func read(
        prompt: String, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> SecretBytes {
        try SecretText.read(oldPasswordFile, "password", prompt: prompt, in: surroundings)
    }
}

/// A secret from a file, standard input or a prompt.
enum SecretText {
    private static let limit = 1024

    static func read(
        _ file: String?, _ what: String, prompt: String, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> SecretBytes {
        var bytes: [UInt8]
        switch file {
        case nil:
            guard let typed = try surroundings.secret(prompt) else {
                throw .usage("no \(what) was given")
            }
            bytes = typed
        case "-":
            guard let read = try surroundings.input(limit) else {
                throw .usage("the \(what) has more than \(limit) bytes")
            }
            bytes = read
        case .some(let path):
            bytes = try SecretFile.read(path, limit: limit, in: surroundings)
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .usage("the \(what) is empty") }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw .usage("the \(what) is not UTF-8")
        }
        return SecretBytes(bytes)
    }
}

extension SecretBytes {
    /// Use it only for the body of a request.
    var text: String { String(decoding: reveal(), as: UTF8.self) }
}
