/// How log lines are written.
package enum LogFormat: String, Sendable, CaseIterable {
    /// A level and a text; the time is the journal's work.
    case text
    /// One JSON object a line, with its time.
    case json
}
