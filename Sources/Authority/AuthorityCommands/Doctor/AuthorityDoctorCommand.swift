import ArgumentParser
import Doctor
import Sessions
import Wire

/// The command `postern-authority doctor`, which looks for faults of this authority.
struct AuthorityDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Checks this authority for faults.",
        discussion: """
            Changes nothing, and may run while `serve` runs. Exit status: 0 no fault, 3 there are \
            warnings, 1 a check failed, 78 a check of the configuration failed.
            """)

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: DoctorOptions
    @Flag(help: "As JSON.") var json = false
    @Flag(help: "Only try requests that the broker must refuse.") var prove = false

    func run() async throws {
        let checks = prove ? AuthorityCheck.proofs : AuthorityCheck.all
        let notes = checks.map { CheckNote($0) }
        if options.list {
            if json { return print(CheckNote.json(notes).text) }
            for line in notes.flatMap(\.lines) { print(line) }
            return
        }
        let folder = place.configDirectory ?? program.place.configDirectory ?? "/etc/postern"
        try await AuthorityCommands.run {
            let examination: Examination<AuthorityFacts>
            do throws(UnknownCheck) {
                examination = try Examination(checks, without: options.dontRun)
            } catch {
                say("\(error)")
                throw Exit.usage
            }
            let facts = await AuthorityFacts(folder, examination.probes)
            let report = examination.report(facts)
            if json {
                print(report.json.text)
            } else {
                for line in report.lines { print(line) }
            }
            let verdict = report.verdict(warningsAreErrors: options.warningsAsErrors)
            guard verdict == .ok else { throw ExitCode(verdict.rawValue) }
        }
    }
}
