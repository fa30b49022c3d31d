import LinuxIO

/// A user's file that holds a secret.
enum SecretFile {
    /// Reads the whole file. If others may write to it, it is refused. If others may read it, a
    /// note says so.
    static func read(
        _ path: String, limit: Int, in surroundings: CommandEnvironment
    ) throws(CommandFailure) -> [UInt8] {
        do throws(FileFailure) {
            do throws(FileFailure) {
                return try PrivateFile.read(path, limit: limit)
            } catch .tooOpen {
                let bytes = try PrivateFile.read(path, limit: limit, strictestMode: 0o755)
                surroundings.note("note: others can read \(path); chmod 600 it")
                return bytes
            }
        } catch {
            throw .configuration(error.description)
        }
    }
}
