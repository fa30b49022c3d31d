/// One request to a Raspberry Pi's firmware and its answer, as words in one buffer.
///
/// Five words of head (the buffer's size, whether it was answered, the tag, the room for the
/// value, the size of the value), the value, and a word of zero. Only requests that read stand
/// here: none changes what the firmware keeps.
/// Source: github.com/raspberrypi/firmware/wiki/Mailbox-property-interface;
/// github.com/raspberrypi/utils, rpifwcrypto/rpifwcrypto.c.
struct PropertyMessage: Equatable {
    enum Request: UInt32 {
        /// The state of a key: its kind in the lowest bits.
        case keyStatus = 0x0003_0090
        /// HMAC-SHA256 under a key.
        case hmac = 0x0003_0092
    }

    /// The most bytes that the firmware authenticates at once.
    static let messageLimit = 2048
    private static let headCount = 5
    /// Set by the firmware in what it has answered, and in the status of what it could not do.
    private static let answered: UInt32 = 0x8000_0000

    private(set) var words: [UInt32]
    private let request: Request

    init(keyStatus key: UInt32) {
        self.init(.keyStatus, [key, 0, 0, 0], room: 4)
    }

    /// Nil for more than `messageLimit` bytes.
    init?(hmac message: [UInt8], key: UInt32) {
        guard message.count <= Self.messageLimit else { return nil }
        var value = [0, key, UInt32(message.count)]
        value += Self.words(message, room: Self.messageLimit)
        self.init(.hmac, value, room: UInt32(value.count * 4))
    }

    private init(_ request: Request, _ value: [UInt32], room: UInt32) {
        self.request = request
        let count = Self.headCount + value.count + 1
        words = [UInt32(count * 4), 0, request.rawValue, room, 0] + value + [0]
    }

    /// The same with what the firmware left in the buffer; nil where that has another length.
    func answered(_ words: [UInt32]) -> PropertyMessage? {
        guard words.count == self.words.count else { return nil }
        var answer = self
        answer.words = words
        return answer
    }

    /// Whether the firmware knows the request and has answered it.
    private var isAnswered: Bool {
        words[1] & Self.answered != 0 && words[4] & Self.answered != 0
            && words[2] == request.rawValue
    }

    /// The state of the key; nil where there is none.
    var keyStatus: UInt32? {
        guard isAnswered, words[5] & Self.answered == 0 else { return nil }
        return words[5]
    }

    /// The code of 32 bytes; nil where the firmware made none.
    var code: [UInt8]? {
        guard request == .hmac, isAnswered, words[5] & Self.answered == 0 else { return nil }
        let code = words[7..<15].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        return code.contains { $0 != 0 } ? code : nil
    }

    /// Bytes in the order in which they stand in memory, the rest zero.
    private static func words(_ bytes: [UInt8], room: Int) -> [UInt32] {
        var words = [UInt32](repeating: 0, count: room / 4)
        for (place, byte) in bytes.enumerated() {
            words[place / 4] |= UInt32(byte) << UInt32(place % 4 * 8)
        }
        return words
    }
}
