import Glibc

/// The environment variables of this process.
package enum Environment {
    /// The value of a variable; `nil` if it is unset.
    ///
    /// The corresponding C function is `getenv`.
    package static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Sets a variable for libraries that read it. A variable that is set keeps its value. Call it
    /// only while there is one thread.
    ///
    /// The corresponding C function is `setenv`.
    package static func set(_ name: String, to value: String) throws(SystemError) {
        guard unsafe setenv(name, value, 0) == 0 else { throw .last("setenv") }
    }

    /// All variables at the start of the process.
    ///
    /// Source: proc_pid_environ(5).
    package static func all() -> [String: String] {
        let raw = unsafe open("/proc/self/environ", O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { return [:] }
        let file = Descriptor(owning: raw)
        guard let bytes = try? file.readAll(limit: 4 * 1_048_576) else { return [:] }
        var result: [String: String] = [:]
        for entry in bytes.split(separator: 0) {
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: entry[..<equals], as: UTF8.self)
            result[name] = String(decoding: entry[entry.index(after: equals)...], as: UTF8.self)
        }
        return result
    }
}
