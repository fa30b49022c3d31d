import ArgumentParser
import Sessions
import Wire

/// A command that does something. What it prints goes to its surroundings alone.
protocol Verb: ParsableCommand {
    func perform(in surroundings: Surroundings) async throws(CommandFailure)
}

extension Surroundings {
    /// A result for programs.
    func emit(_ value: JSONValue) { out(value.text) }

    /// A step that takes time, once it is done or has failed.
    func step(_ isDone: Bool, _ text: String) { note("\(isDone ? "✓" : "✗") \(text)") }
}
