/// Finds keys that appear twice in one object of a JSON text. Readers differ in which one they use.
package enum RepeatedKey {
    /// The path of the first repeated key, such as `rules[1].app`. Nil if there is none, or if the
    /// text has another fault before it.
    package static func first(in bytes: [UInt8]) -> String? {
        guard let fault = PayloadScanner.fault(in: bytes, type: .any),
            fault.kind == .duplicateKey
        else { return nil }
        return fault.path
    }
}
