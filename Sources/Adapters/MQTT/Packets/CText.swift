/// Lends text to C functions from the stack. Swift would first make an array of a `String`
/// argument: eight arrays for the properties of one message.
enum CText {
    /// Lends a copy that ends with a NUL. The text must contain no NUL.
    @unsafe
    static func lend<R>(_ text: String, to body: (UnsafePointer<CChar>) -> R) -> R {
        unsafe lend(text, "") { text, _ in unsafe body(text) }
    }

    /// Lends copies of two texts.
    @unsafe
    static func lend<R>(
        _ first: String, _ second: String,
        to body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> R
    ) -> R {
        let capacity = first.utf8.count + second.utf8.count + 2
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
            let next = unsafe copy(first, to: room, from: 0)
            _ = unsafe copy(second, to: room, from: next)
            let end = unsafe UnsafeBufferPointer(rebasing: room[next...])
            let start = unsafe UnsafeBufferPointer(rebasing: room[..<next])
            guard let first = start.baseAddress, let second = end.baseAddress else {
                return unsafe body("", "")
            }
            return unsafe body(first, second)
        }
    }

    /// Copies a text and a NUL. Returns the position after them.
    private static func copy(
        _ text: String, to room: UnsafeMutableBufferPointer<CChar>, from start: Int
    ) -> Int {
        let bytes = text.utf8.span
        for index in 0..<bytes.count {
            unsafe room[start + index] = CChar(bitPattern: bytes[index])
        }
        unsafe room[start + bytes.count] = 0
        return start + bytes.count + 1
    }
}
