package import Foundation
import LinuxIO
import MQTT
package import Sessions

/// Everything outside the program that a command uses, except its arguments and the network.
package struct CommandEnvironment: Sendable {
    package var environment: [String: String]
    package var now: @Sendable () -> Timestamp
    package var zone: TimeZone
    /// The width of the terminal for results, in columns; nil without a terminal.
    package var width: Int?
    /// Prints one line of a result.
    package var out: @Sendable (String) -> Void
    /// Prints one line for people.
    package var note: @Sendable (String) -> Void
    /// Prints text for people without a newline, to be redrawn; nil without a terminal.
    package var draw: (@Sendable (String) -> Void)?
    /// Waits. Returns early if the task is cancelled.
    package var pause: @Sendable (Duration) async -> Void = { span in
        do { try await Task.sleep(for: span) } catch {}
    }
    /// Takes ^C and SIGTERM over. What it returns waits for the first one, or until its task is
    /// cancelled. The next one ends the program. Nil: the first one does.
    package var takeInterrupt: (@Sendable () -> @Sendable () async -> Void)?
    /// Opens a page in a browser; returns false if no program for it is found. Nil without a
    /// display or a terminal.
    package var openPage: (@Sendable (String) -> Bool)?
    /// Asks the user on the terminal; the answer is nil if they give up. Nil without a terminal.
    package var ask: (@Sendable (_ question: String) throws(CommandFailure) -> String?)?
    /// Reads standard input to its end; nil if it is longer than the limit.
    package var input: @Sendable (_ limit: Int) throws(CommandFailure) -> [UInt8]?
    /// Asks the user for a secret, without showing it; nil if the user gives up.
    package var secret: @Sendable (_ prompt: String) throws(CommandFailure) -> [UInt8]?

    package init(
        environment: [String: String], now: @escaping @Sendable () -> Timestamp,
        zone: TimeZone, width: Int?, out: @escaping @Sendable (String) -> Void,
        note: @escaping @Sendable (String) -> Void,
        input: @escaping @Sendable (Int) throws(CommandFailure) -> [UInt8]?,
        secret: @escaping @Sendable (String) throws(CommandFailure) -> [UInt8]?
    ) {
        self.environment = environment
        self.now = now
        self.zone = zone
        self.width = width
        self.out = out
        self.note = note
        self.input = input
        self.secret = secret
    }

    /// Erases what was drawn.
    static let blankLine = "\r\u{1B}[K"

    var times: TimeText { TimeText(now: now(), zone: zone) }

    func show(_ table: TextTable) {
        for line in table.lines(width: width) { out(line) }
    }
}

extension CommandEnvironment {
    /// The surroundings of this process: standard streams, clock and environment.
    package static var process: CommandEnvironment {
        var surroundings = CommandEnvironment(
            environment: ProcessInfo.processInfo.environment,
            now: { Timestamp(milliseconds: SystemClock.wallMilliseconds) },
            zone: .current, width: Terminal.width,
            out: { write($0, to: .standardOutput) }, note: { write($0, to: .standardError) },
            input: { (limit) throws(CommandFailure) in
                do throws(SystemError) {
                    return try Terminal.readStandardInput(limit: limit)
                } catch {
                    throw .failed(layer: "standard input", text: error.description)
                }
            },
            secret: { (prompt) throws(CommandFailure) in
                do throws(SystemError) {
                    return try Terminal.readSecret(prompt: prompt)
                } catch {
                    throw .usage("there is no terminal to ask for it; give it by a file or by "
                        + "standard input, as --help says")
                }
            })
        if Terminal.isTerminal(.error) {
            surroundings.draw = { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) }
        }
        if Terminal.isTerminal(.input) {
            surroundings.ask = { (question) throws(CommandFailure) in
                do throws(SystemError) {
                    return try Terminal.ask(question)
                } catch {
                    throw .failed(layer: "terminal", text: error.description)
                }
            }
        }
        surroundings.takeInterrupt = {
            let stop = StopSignal()
            return {
                await stop.wait()
                stop.letSecondEnd()
            }
        }
        if let opener = PageOpener(environment: surroundings.environment) {
            surroundings.openPage = { opener.open($0) }
        }
        return surroundings
    }

    /// Writes each line at once, so that the reader of a pipe sees it. Exits if nobody reads.
    private static func write(_ line: String, to file: FileHandle) {
        do {
            try file.write(contentsOf: Data((line + "\n").utf8))
        } catch {
            exit(ExitStatus.failed.rawValue)
        }
    }
}
