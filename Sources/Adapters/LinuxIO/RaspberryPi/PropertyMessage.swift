/// One request to a Raspberry Pi's firmware, or its answer, as words in one buffer.
///
/// The buffer has five head words, the value and a zero word. The head is the buffer's size, the
/// answer flag, the tag, the room for the value and the value's size. There are only requests that
/// read; none changes the firmware's data. Source:
/// github.com/raspberrypi/firmware/wiki/Mailbox-property-interface; github.com/raspberrypi/utils,
/// rpifwcrypto/rpifwcrypto.c.
struct PropertyMessage: Equatable {
    enum Request: UInt32 {
        /// Reads the state of a key. The lowest bits are its kind.
        case keyStatus = 0x0003_0090
        /// Computes HMAC-SHA256 with a key.
        case hmac = 0x0003_0092
    }

    /// The longest message that the firmware authenticates, in bytes.
    static let messageLimit = 2048
    private static let headCount = 5
    /// The firmware sets this bit in a request that it answered, and in the status of a request
    /// that failed.
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

    /// This message with the buffer that the firmware left. Nil if the length differs.
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

    /// The key's state. Nil if there is no such key.
    var keyStatus: UInt32? {
        guard isAnswered, words[5] & Self.answered == 0 else { return nil }
        return words[5]
    }

    /// The 32-byte code. Nil if the firmware made none.
    var code: [UInt8]? {
        guard request == .hmac, isAnswered, words[5] & Self.answered == 0 else { return nil }
        let code = words[7..<15].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        return code.contains { $0 != 0 } ? code : nil
    }

    /// Packs bytes into words in memory order, and fills the rest with zeros.
    private static func words(_ bytes: [UInt8], room: Int) -> [UInt32] {
        var words = [UInt32](repeating: 0, count: room / 4)
        for (place, byte) in bytes.enumerated() {
            words[place / 4] |= UInt32(byte) << UInt32(place % 4 * 8)
        }
        return words
    }
}
