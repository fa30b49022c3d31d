import LinuxIO

/// Whether a file is as private as it must be.
package enum FileModes {
    /// What is wrong with its owner or mode, in a sentence; a file that is not there is no fault
    /// of its mode.
    package static func fault(_ path: String, _ strictestMode: UInt32) -> String? {
        do throws(FileFailure) {
            try PrivateFile.check(path, strictestMode: strictestMode)
            return nil
        } catch {
            if case .missing = error { return nil }
            return "\(error)"
        }
    }

    /// The same of a folder that nobody else may enter.
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
