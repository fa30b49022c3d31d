package import ArgumentParser

/// What `doctor` of each program can be asked for.
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
