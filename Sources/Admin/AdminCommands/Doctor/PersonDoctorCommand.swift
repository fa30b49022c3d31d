import ArgumentParser
import Doctor

/// `postern doctor`: checks the way from this machine to its authority.
struct PersonDoctorCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Find problems between here and the authority.",
        discussion: """
            Exit status: 0 all checks passed, 3 there are warnings, 1 a check failed, 78 a \
            check of the configuration failed. It asks the authority for a broker login, as \
            `watch` does.
            """)

    @OptionGroup var place: Place
    @OptionGroup var options: DoctorOptions
    @Flag(help: "Log in at the broker, too. This ends your running `watch`.")
    var tryLogin = false

    func perform(in surroundings: CommandEnvironment) async throws(CommandFailure) {
        let notes = PersonCheck.all.map { CheckNote($0) }
        if options.list {
            if place.json { return surroundings.emit(CheckNote.json(notes)) }
            for line in notes.flatMap(\.lines) { surroundings.out(line) }
            return
        }
        let examination: Examination<DoctorFacts>
        do throws(UnknownCheck) {
            examination = try Examination(PersonCheck.all, without: options.dontRun)
        } catch {
            throw .usage("\(error)")
        }
        let facts = await DoctorFacts(
            place, examination.probes, triesLogin: tryLogin, in: surroundings)
        let report = examination.report(facts)
        if place.json {
            surroundings.emit(report.json)
        } else {
            for line in report.lines { surroundings.out(Printable.line(line)) }
        }
        switch report.verdict(warningsAreErrors: options.warningsAsErrors) {
        case .ok: return
        case .warnings: throw .degraded("there are warnings")
        case .failed: throw .failed(layer: "doctor", text: "a check failed")
        case .badConfiguration: throw .configuration("a check failed")
        }
    }
}
