import LinuxIO
package import Logging
import Sessions
import Synchronization

/// A program's log on standard error: bounded, a line each, as text or as JSON.
package final class Journal: Sendable {
    private let form: LogLineForm
    private let throttle = Mutex(LogThrottle())

    package init(_ form: LogLineForm) { self.form = form }

    package func write(_ entry: LogEntry) {
        throttle.withLock { throttle in
            // Under the lock, so that no line comes before one that was said earlier.
            write(throttle.admit(entry, at: SystemClock.monotonic))
        }
    }

    /// Tells the counts that are due, or at the end all.
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

/// swift-log's way into a journal.
package struct JournalHandler: LogHandler {
    private let journal: Journal
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.info

    package init(_ journal: Journal) { self.journal = journal }

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
