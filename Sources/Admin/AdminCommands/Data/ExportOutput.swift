import LinuxIO

/// The place of exported lines: standard output, or a file that has its name only when it is
/// complete.
struct ExportOutput {
    private let file: UnfinishedFile?
    private let surroundings: CommandEnvironment

    init(
        _ path: String?, replaces: Bool, in surroundings: CommandEnvironment
    ) throws(CommandFailure) {
        self.surroundings = surroundings
        do throws(FileFailure) {
            file = try path.map { path throws(FileFailure) in
                try UnfinishedFile(path, replaces: replaces)
            }
        } catch {
            throw Self.sort(error)
        }
    }

    func write(_ line: String) throws(CommandFailure) {
        guard let file else { return surroundings.out(line) }
        do throws(FileFailure) {
            try file.write(line.utf8)
            try file.write(CollectionOfOne(UInt8(ascii: "\n")))
        } catch {
            throw Self.sort(error)
        }
    }

    func finish() throws(CommandFailure) {
        do throws(FileFailure) {
            try file?.finish()
        } catch {
            throw Self.sort(error)
        }
    }

    private static func sort(_ failure: FileFailure) -> CommandFailure {
        if case .exists = failure { return .usage("\(failure); --force replaces it") }
        return .failed(layer: "file", text: failure.description)
    }
}
