package import Gate
import Sessions

/// `[data]`: how much of the boards' data the authority keeps. Both bounds hold, and the oldest
/// records go first.
package struct KeptData: Equatable, Sendable {
    /// Zero: it keeps nothing.
    package var keep: Duration
    /// The largest size of the store on disk.
    package var maxBytes: ByteCount

    /// A smaller store would spend most of its room on its own structure.
    private static let leastBytes = ByteCount(bytes: 16 << 20)

    init(_ section: TOMLSection) throws(SettingsError) {
        keep = try section.value("keep", Self.keep) ?? .seconds(30 * 86_400)
        maxBytes = try section.size("max_bytes") ?? ByteCount(bytes: 1 << 30)
        guard maxBytes >= Self.leastBytes else {
            throw section.fault("max_bytes", "must be at least 16 MiB")
        }
    }

    /// `"0"` needs no unit.
    private static func keep(_ text: String) throws(SettingFault) -> Duration {
        if text == "0" { return .zero }
        let span: Duration
        do throws(DurationText.Invalid) {
            span = try DurationText.parse(text)
        } catch {
            throw SettingFault(error.description)
        }
        guard span == .zero || span >= .seconds(60) else {
            throw SettingFault("must be at least a minute, or \"0\" to keep nothing")
        }
        return span
    }
}
