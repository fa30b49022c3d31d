import LinuxIO

/// A file of a person's own that holds a secret.
enum SecretFile {
    /// Reads it whole. A file that others may write to is refused, one that they may read is
    /// named.
    static func read(
        _ path: String, limit: Int, in surroundings: Surroundings
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
