import Glibc

/// The terminal of the person who runs the program, if there is one.
package enum Terminal {
    package enum Stream: Int32, Sendable {
        case input = 0
        case output = 1
        case error = 2
    }

    /// The corresponding C function is `isatty`.
    package static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// The columns of the terminal on standard output. `nil` if standard output is no terminal.
    package static var width: Int? {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
        else { return nil }
        return Int(size.ws_col)
    }

    /// Reads standard input to its end. `nil` if it has more than `limit` bytes.
    package static func readStandardInput(limit: Int) throws(SystemError) -> [UInt8]? {
        let copy = dup(STDIN_FILENO)
        guard copy >= 0 else { throw .last("dup") }
        return try Descriptor(owning: copy).readAll(limit: limit)
    }

    /// Asks for a secret on the terminal, not on standard output, and does not show the typed text.
    ///
    /// `nil` if the person cancels (^C, or ^D on an empty line). Throws if there is no terminal. At
    /// most 1024 bytes.
    package static func readSecret(prompt: String) throws(SystemError) -> [UInt8]? {
        let raw = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard raw >= 0 else { throw .last("open /dev/tty") }
        let terminal = Descriptor(owning: raw)
        var before = termios()
        guard unsafe tcgetattr(raw, &before) == 0 else { throw .last("tcgetattr") }
        var quiet = before
        // Without ISIG, ^C arrives as a byte, so this function always turns the echo on again.
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard unsafe tcsetattr(raw, TCSAFLUSH, &quiet) == 0 else { throw .last("tcsetattr") }
        defer { _ = unsafe tcsetattr(raw, TCSAFLUSH, &before) }
        try terminal.writeAll(Array(prompt.utf8))
        let secret = try readLine(terminal)
        try terminal.writeAll([UInt8(ascii: "\n")])
        return secret
    }

    /// Asks on the terminal and shows the typed text. Throws if there is no terminal.
    ///
    /// `nil` if the person cancels. At most 4096 bytes, the longest line of a terminal. With
    /// `discardingEarlierInput` nothing that was typed before the question can answer it.
    package static func ask(
        _ prompt: String, discardingEarlierInput: Bool = false
    ) throws(SystemError) -> String? {
        let raw = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard raw >= 0 else { throw .last("open /dev/tty") }
        let terminal = Descriptor(owning: raw)
        if discardingEarlierInput { _ = tcflush(raw, TCIFLUSH) }
        try terminal.writeAll(Array(prompt.utf8))
        var line = [UInt8](repeating: 0, count: 4096)
        guard case .bytes(let count) = try terminal.read(into: &line) else { return nil }
        let typed = line.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: typed, as: UTF8.self)
    }

    private static func readLine(
        _ terminal: borrowing Descriptor
    ) throws(SystemError) -> [UInt8]? {
        var line: [UInt8] = []
        var byte: [UInt8] = [0]
        while true {
            guard case .bytes = try terminal.read(into: &byte), let key = byte.first else {
                return nil
            }
            switch key {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return line
            case 3: return nil
            case 4 where line.isEmpty: return nil
            case 8, 127:
                // Removes one UTF-8 character: its continuation bytes and then its first byte.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
            default: if line.count < 1024 { line.append(key) }
            }
        }
    }
}
