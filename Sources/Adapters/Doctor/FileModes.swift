import LinuxIO

/// Checks that files and folders are private enough.
package enum FileModes {
    /// A sentence about a wrong owner or mode. Nil if the file is right or missing.
    package static func fault(_ path: String, _ strictestMode: UInt32) -> String? {
        do throws(FileFailure) {
            try PrivateFile.check(path, strictestMode: strictestMode)
            return nil
        } catch {
            if case .missing = error { return nil }
            return "\(error)"
        }
    }

    /// Like `fault`, for a folder that no other user may enter.
    package static func fault(ofFolder path: String) -> String? {
        do throws(FileFailure) {
            try PrivateFolder.check(path)
            return nil
        } catch {
            if case .missing = error { return nil }
            return "\(error)"
        }
    }
}
