package import ArgumentParser

/// The options of each program's `doctor` command.
package struct DoctorOptions: ParsableArguments {
    @Flag(help: "Name the checks without running them.")
    package var list = false

    @Option(help: ArgumentHelp(
        "Leave this check out, and all that only it would probe. Repeatable.", valueName: "id"))
    package var dontRun: [String] = []

    @Flag(help: "A warning ends as a failure does, with 1.")
    package var warningsAsErrors = false

    package init() {}
}
