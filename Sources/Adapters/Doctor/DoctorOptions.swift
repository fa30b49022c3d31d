package import ArgumentParser

/// The options of each program's `doctor` command.
package struct DoctorOptions: ParsableArguments {
    @Flag(help: "List the checks without running them.")
    package var list = false

    @Option(help: ArgumentHelp(
        "Skip this check, and the probes that only it needs. Repeatable.", valueName: "id"))
    package var dontRun: [String] = []

    @Flag(help: "Treat a warning as a failure: exit status 1.")
    package var warningsAsErrors = false

    package init() {}
}
