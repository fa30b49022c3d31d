import Testing
@testable import LinuxIO

/// Against the layout of `struct firmware_msg` and `struct firmware_hmac_msg`.
///
/// Source: github.com/raspberrypi/utils, rpifwcrypto/rpifwcrypto.c.
@Suite("Property message")
struct PropertyMessageTests {
    @Test("asks for a key's state in ten words")
    func status() {
        let message = PropertyMessage(keyStatus: 1)
        #expect(message.words == [40, 0, 0x30090, 4, 0, 1, 0, 0, 0, 0])
    }

    @Test("asks for a code with flags, key, length and the message's bytes in their order")
    func code() throws {
        let message = try #require(PropertyMessage(hmac: [1, 2, 3, 4, 5], key: 1))
        #expect(message.words.count * 4 == 20 + 12 + 2048 + 4)
        #expect(message.words.prefix(10) == [2084, 0, 0x30092, 2060, 0, 0, 1, 5, 0x0403_0201, 5])
        #expect(message.words.dropFirst(10).allSatisfy { $0 == 0 })
        #expect(PropertyMessage(hmac: [UInt8](repeating: 0, count: 2048), key: 1) != nil)
        #expect(PropertyMessage(hmac: [UInt8](repeating: 0, count: 2049), key: 1) == nil)
    }

    @Test("reads a code only from a whole answer", arguments: [
        (nil, true), (1, false), (2, false), (4, false), (5, false), (7, false),
    ] as [(Int?, Bool)])
    func answer(spoilt: Int?, isRead: Bool) throws {
        let message = try #require(PropertyMessage(hmac: [9], key: 1))
        var words = message.words
        words[1] = 0x8000_0000
        words[4] = 0x8000_0028
        words[5] = 0
        words[6] = 32
        for place in 7..<15 { words[place] = 0x0403_0201 }
        switch spoilt {
        case 5: words[5] = 0x8000_0000
        case 7: for place in 7..<15 { words[place] = 0 }
        case let place?: words[place] = 0
        case nil: break
        }
        let answer = try #require(message.answered(words))
        #expect(answer.code == (isRead ? [UInt8]((0..<32).map { UInt8($0 % 4 + 1) }) : nil))
        #expect(message.answered(Array(words.dropLast())) == nil)
    }

    @Test("reads a key's state, and no state where there is no such key")
    func state() throws {
        let message = PropertyMessage(keyStatus: 1)
        var words = message.words
        (words[1], words[4], words[5]) = (0x8000_0000, 0x8000_0004, 0x101)
        #expect(message.answered(words)?.keyStatus == 0x101)
        #expect(message.answered(words)?.code == nil)
        words[5] = 0x8000_0003
        #expect(message.answered(words)?.keyStatus == nil)
        #expect(message.keyStatus == nil)
    }
}

@Suite("VideoCore mailbox")
struct VideoCoreMailboxTests {
    @Test("says why there is no firmware to ask")
    func absent() {
        #expect(throws: FirmwareFailure.self) {
            try VideoCoreMailbox("/nonexistent/vcio").authenticate([1])
        }
        // A device of another kind.
        #expect(throws: FirmwareFailure.self) {
            try VideoCoreMailbox("/dev/null").authenticate([1])
        }
    }
}
