/// A copy of the newest frame's last sequence number, written after that frame.
///
/// If the last frame of the queue cannot be opened, it was either torn or damaged later. Nothing
/// shows which. The mark shows its numbers, so that they are not assigned again. The next frame
/// overwrites the mark. A mark is not authenticated. It is accepted if its two halves agree and
/// its number may have been assigned next.
enum EndMark {
    /// The number, then the number with all bits inverted.
    static let byteCount = 16

    static func encode(_ last: Int64, into bytes: inout [UInt8]) {
        bytes.append(number: last)
        bytes.append(number: ~last)
    }

    /// The highest number above `known` in the marks of these bytes, at most `limit` above it. A
    /// mark begins where a frame may begin.
    static func highest(in bytes: [UInt8], after known: Int64, limit: Int64) -> Int64? {
        var highest: Int64?
        var place = 0
        while place + byteCount <= bytes.count {
            // A quick check first: no number has more than 56 bits.
            if bytes[place] == 0, bytes[place + 8] == 0xFF {
                var reader = ByteReader(Array(bytes[place..<place + byteCount]))
                if let last = reader.number(), reader.number() == ~last,
                    last > max(known, highest ?? 0), last &- known <= limit
                { highest = last }
            }
            place += FrameHeader.alignment
        }
        return highest
    }
}
