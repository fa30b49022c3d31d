/// Keys that stand twice in one object of a JSON text: readers differ in which they take.
package enum RepeatedKey {
    /// The path of the first, such as `rules[1].app`; nil where there is none, and for a text
    /// that has another fault before it.
    package static func first(in bytes: [UInt8]) -> String? {
        guard let fault = PayloadScanner.fault(in: bytes, type: .any),
            fault.kind == .duplicateKey
        else { return nil }
        return fault.path
    }
}
