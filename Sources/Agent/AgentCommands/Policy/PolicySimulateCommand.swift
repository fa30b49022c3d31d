import AgentCore
import AgentService
import ArgumentParser
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy simulate`: shows which recorded messages the policy would have refused.
struct PolicySimulateCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Show which recorded messages the policy would have refused.",
        discussion: """
            The log is the output of `mosquitto_sub -t '#' -F %j` at the board's own broker, one \
            message on each line. Messages are handled as on the bus: retained ones are skipped, \
            routes apply, rates count by the time of each line, and the session counts as \
            available. Without --scope or --with-session no scope applies, and topics that only \
            a scope grants are not checked. Lines that are not messages are reported. \
            Exit status: 0 whatever is refused, 1 no line could be read, 2 there is no such log.
            """)

    /// The longest line, in bytes. The largest payload with each byte escaped, and its topic, fit.
    private static let lineLimit = 2_097_152
    /// The most malformed lines that are reported one by one.
    private static let toldFaults = 10

    @OptionGroup var place: BoardPlace
    @OptionGroup var source: PolicySource

    @Flag(help: "Apply the scope of this board's session, too.")
    var withSession = false

    @Argument(help: "The recorded messages; - is standard input.")
    var log: String

    func perform() throws(AgentFailure) -> ExitStatus {
        let judged = try PolicyInputs(place, source, session: withSession ? .yes : .no)
        var run = RecordedRun(simulation: PolicySimulation(judged.trial))
        do throws(FileFailure) {
            var file = try InputFile(log)
            while let line = try file.nextLine(limit: Self.lineLimit) { run.take(line) }
        } catch {
            throw AgentFailure(input: error)
        }
        for fault in run.faults.prefix(Self.toldFaults) {
            ProcessEnd.say("\(log):\(fault.line): \(fault.sentence)", to: .error)
        }
        if run.malformed > Self.toldFaults {
            ProcessEnd.say(
                "\(log): \(run.malformed - Self.toldFaults) more malformed lines", to: .error)
        }
        guard run.simulation.messages > 0 else {
            throw AgentFailure(.failed, "\(log): no line of it is a recorded message")
        }
        let report = SimulationReport(
            simulation: run.simulation, rules: judged.policy?.rules ?? [],
            malformed: run.malformed, blank: run.blank, file: judged.file)
        if place.json {
            ProcessEnd.say(report.json.text, to: .output)
        } else {
            for line in report.lines { ProcessEnd.say(PlainText.line(line), to: .output) }
        }
        return .ok
    }
}

/// Feeds the lines of a log into a simulation, and counts those that are no messages.
struct RecordedRun {
    struct LineFault {
        let line: Int
        let sentence: String
    }

    private(set) var simulation: PolicySimulation
    private(set) var lines = 0
    private(set) var malformed = 0
    private(set) var blank = 0
    /// The first malformed lines.
    private(set) var faults: [LineFault] = []

    init(simulation: PolicySimulation) { self.simulation = simulation }

    mutating func take(_ line: InputFile.Line) {
        lines += 1
        guard !line.bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) else {
            blank += 1
            return
        }
        do throws(RecordedMessage.Fault) {
            simulation.take(try RecordedMessage(
                line.bytes, isCut: line.isCut, most: Gate.payloadLimit + 1))
        } catch {
            malformed += 1
            if faults.count < 10 { faults.append(LineFault(line: lines, sentence: error.sentence)) }
        }
    }
}
