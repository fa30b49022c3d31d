import ArgumentParser
import Sessions
import Wire

/// A command that does work. It prints only through its surroundings.
protocol Verb: AsyncParsableCommand {
    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure)
}

extension CommandEnvironment {
    /// Prints a result for programs.
    func emit(_ value: JSONValue) { out(value.text) }

    /// Prints a step after it was done or has failed.
    func step(_ isDone: Bool, _ text: String) { note("\(isDone ? "✓" : "✗") \(text)") }
}
