/// The last sequence of the newest frame, once more, behind that frame.
///
/// A frame at the end of the queue that does not open was torn, or was damaged once it was durable:
/// nobody can tell. The mark says which numbers it had, so that they are not given again. The next
/// frame is written over the mark. Nothing proves a mark: it is believed where its two halves agree
/// and its number may have been given next.
enum EndMark {
    /// The number, and all its bits inverted.
    static let byteCount = 16

    static func encode(_ last: Int64, into bytes: inout [UInt8]) {
        bytes.append(number: last)
        bytes.append(number: ~last)
    }

    /// The highest number above `known` that a mark in these bytes names, which is at most `limit`
    /// above it. Marks begin where frames may begin.
    static func highest(in bytes: [UInt8], after known: Int64, limit: Int64) -> Int64? {
        var highest: Int64?
        var place = 0
        while place + byteCount <= bytes.count {
            // A quick look first: no number has more than 56 bits.
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
