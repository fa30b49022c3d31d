/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    /// A level and a text. The journal adds the time.
    case text
    /// One JSON object a line, with its time.
    case json
}
