import LinuxIO
package import Logging
import Sessions
import Synchronization

/// A program's log on standard error, as text or as JSON, with a limited number of lines.
package final class LogWriter: Sendable {
    private let form: LogLineForm
    private let throttle = Mutex(LogThrottle())

    package init(_ form: LogLineForm) { self.form = form }

    package func write(_ entry: LogEntry) {
        throttle.withLock { throttle in
            // The lock keeps lines in the order in which they were logged.
            write(throttle.admit(entry, at: SystemClock.monotonic))
        }
    }

    /// Writes the repeat counts that are due. `atEnd` writes all of them.
    package func flush(atEnd: Bool = false) {
        throttle.withLock { throttle in
            write(atEnd ? throttle.close() : throttle.due(at: SystemClock.monotonic))
        }
    }

    private func write(_ entries: [LogEntry]) {
        let time = Timestamp(milliseconds: SystemClock.wallMilliseconds)
        for entry in entries { ProcessEnd.say(form.line(entry, at: time), to: .error) }
    }
}

/// The swift-log handler that writes to a journal.
package struct LogWriterHandler: LogHandler {
    private let journal: LogWriter
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.info

    package init(_ journal: LogWriter) { self.journal = journal }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var fields = metadata.mapValues(\.description)
        for (name, value) in event.metadata ?? [:] { fields[name] = value.description }
        journal.write(LogEntry(event.level, event.message.description, fields))
    }
}
