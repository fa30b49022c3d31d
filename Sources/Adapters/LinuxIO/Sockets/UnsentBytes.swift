/// What a socket has not taken yet of what it was given.
struct UnsentBytes {
    private var bytes: ArraySlice<UInt8> = []

    var isEmpty: Bool { bytes.isEmpty }
    var count: Int { bytes.count }

    mutating func add(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    /// Sends what the socket takes now. `false`: the other end is gone.
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
