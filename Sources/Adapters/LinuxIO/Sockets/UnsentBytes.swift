/// The bytes that wait until a socket takes them.
struct UnsentBytes {
    private var bytes: ArraySlice<UInt8> = []

    var isEmpty: Bool { bytes.isEmpty }
    var count: Int { bytes.count }

    mutating func add(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    /// Sends as much as the socket takes now. `false`: the peer is gone.
    mutating func flush(to handle: borrowing Descriptor) -> Bool {
        while !bytes.isEmpty {
            guard let count = try? handle.send(bytes) else { return false }
            if count == 0 { return true }
            bytes = bytes.dropFirst(count)
        }
        bytes = []
        return true
    }
}
