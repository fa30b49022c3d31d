import FleetSimulator
import LinuxIO
import Synchronization

/// Shows the progress: one line that is redrawn on a terminal, a few plain lines elsewhere.
final class FleetProgress: FleetWatcher {
    private struct State {
        var shown = 0
        var saidAt: Duration?
        var phase = ""
    }

    private let surroundings: CommandEnvironment
    private let state = Mutex(State())

    /// Columns of the progress bar.
    private static let width = 24
    /// The time between two plain lines.
    private static let pace = Duration.seconds(10)

    init(_ surroundings: CommandEnvironment) { self.surroundings = surroundings }

    /// - Parameter share: from 0 to 1.
    func show(_ phase: String, _ share: Double, _ text: String) {
        guard let draw = surroundings.draw else { return say(phase, share, text) }
        let line = "\(Self.bar(share)) \(phase): \(text)"
        let pad = state.withLock { state in
            defer { state.shown = line.count }
            return max(0, state.shown - line.count)
        }
        draw("\r" + line + String(repeating: " ", count: pad))
    }

    /// Ends the phase with a line that stays.
    func finish(_ isDone: Bool, _ text: String) {
        let shown = state.withLock { state in
            defer { state.shown = 0 }
            return state.shown
        }
        if shown > 0 { surroundings.draw?("\r" + String(repeating: " ", count: shown) + "\r") }
        surroundings.step(isDone, text)
    }

    private func say(_ phase: String, _ share: Double, _ text: String) {
        let now = SystemClock.monotonic
        let isDue = state.withLock { state in
            if state.phase != phase { (state.phase, state.saidAt) = (phase, now) }
            guard let last = state.saidAt, now >= last + Self.pace else { return false }
            state.saidAt = now
            return true
        }
        if isDue { surroundings.note("\(phase) \(Int(share * 100)) %: \(text)") }
    }

    static func bar(_ share: Double) -> String {
        let full = Int((min(max(share, 0), 1) * Double(width)).rounded())
        return "[" + String(repeating: "█", count: full)
            + String(repeating: "·", count: width - full) + "]"
    }
}
