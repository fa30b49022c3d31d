import LinuxIO
import Logging

/// Logs to standard error, a line each: a level and a text. The time is the journal's work.
struct LineLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // What a peer wrote may be part of the text: it stays one line, without escapes.
        let text = PlainText.line(event.message.description)
        ProcessEnd.say("\(event.level): \(text)", to: .error)
    }
}
