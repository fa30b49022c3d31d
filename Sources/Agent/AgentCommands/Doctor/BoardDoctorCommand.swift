import AgentService
import ArgumentParser
import Doctor
import LinuxIO
import Sessions
import Wire

/// `postern-agent doctor`: finds faults of this board and says how to repair them.
struct BoardDoctorCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Find what is wrong with this board.",
        discussion: """
            Changes nothing. Exit status: 0 all is well, 3 there are warnings, 1 a check failed, \
            78 a check of the configuration failed. If the agent runs, doctor asks it; \
            otherwise doctor tries the upstream login for a moment.
            """)

    @OptionGroup var place: BoardPlace
    @OptionGroup var options: DoctorOptions
    @Flag(help: "Only try actions that both brokers must refuse.") var prove = false

    func perform() throws(AgentFailure) -> ExitStatus {
        let checks = prove ? BoardCheck.proofs : BoardCheck.all
        let notes = checks.map { CheckNote($0) }
        if options.list {
            if place.json {
                ProcessEnd.say(CheckNote.json(notes).text, to: .output)
            } else {
                for line in notes.flatMap(\.lines) { ProcessEnd.say(line, to: .output) }
            }
            return .ok
        }
        let report = try Self.report(place, checks, without: options.dontRun)
        if place.json {
            ProcessEnd.say(report.json.text, to: .output)
        } else {
            for line in report.lines { ProcessEnd.say(line, to: .output) }
        }
        let verdict = report.verdict(warningsAreErrors: options.warningsAsErrors)
        return ExitStatus(rawValue: verdict.rawValue) ?? .failed
    }

    static func report(
        _ place: BoardPlace, _ checks: [BoardCheck] = BoardCheck.all, without ids: [String] = []
    ) throws(AgentFailure) -> DoctorReport {
        do throws(UnknownCheck) {
            let examination = try Examination(checks, without: ids)
            return examination.report(BoardFacts(place, examination.probes))
        } catch {
            throw AgentFailure(.usage, "\(error)")
        }
    }
}
