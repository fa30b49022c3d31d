import AgentCore
import ConfigurationFiles
import Gate
import LinuxIO
import Logging
import Sessions
import Wire

/// The files of rules while the agent runs: the rules in force, and the result of the last reload.
///
/// A reload is all or nothing: a fault in either file leaves all old rules in force. Only the
/// routes of `agent.toml` change. Its other changes wait for the next start and are listed.
struct RuleFiles: ~Copyable {
    enum Cause { case signal, change }

    /// The settings read at the start, with the rules in force.
    private(set) var inForce: BoardFiles
    private let log: Logger
    private var loadedAt: Timestamp
    /// Why the present files are not in force; nil if they are.
    private var fault: String?
    /// The changed keys of `agent.toml` that wait for the next start.
    private var waiting: [String] = []
    private var watch: RuleWatch
    /// The part of `status` about the rules.
    private(set) var report = JSONValue.null

    init(_ files: BoardFiles, log: Logger) {
        inForce = files
        self.log = log
        loadedAt = Timestamp(milliseconds: SystemClock.wallMilliseconds)
        watch = RuleWatch(folder: files.content.folder, log: log)
        report = makeReport()
        removeSuperseded()
    }

    var nextDeadline: Duration? { mutating get { watch.nextDeadline } }

    mutating func register(in poller: inout Poller) { watch.register(in: &poller) }

    /// Reloads the files after a change, once they are quiet. Nil if no new rules are in force.
    mutating func collect(_ poller: borrowing Poller, at now: Duration) -> AgentEvent? {
        guard watch.collect(poller, at: now) else { return nil }
        return reload(.change)
    }

    /// Reads both files. After a signal, a missing policy file is accepted; after a change, it is
    /// a fault.
    mutating func reload(_ cause: Cause) -> AgentEvent? {
        if cause == .signal, watch.isHalfWritten(at: SystemClock.monotonic) {
            log.info("a rules file is being written: it is read when the write is done")
            return nil
        }
        defer { report = makeReport() }
        do throws(AgentFailure) {
            let content = try RuleContent(folder: inForce.content.folder)
            if cause == .change, watch.isDisturbed(at: SystemClock.monotonic) { return nil }
            let read = try BoardFiles(content, since: inForce)
            if cause == .change, inForce.policy != nil, read.policy == nil {
                throw AgentFailure(.badConfiguration, """
                    \(inForce.policyPath) is gone; if you removed \
                    it on purpose, send SIGHUP or run `postern-agent policy accept-none`
                    """)
            }
            guard content != inForce.content || read.restored != inForce.restored else {
                if fault != nil { log.info("the rules of the files are in force again") }
                fault = nil
                return nil
            }
            return adopt(read)
        } catch {
            refuse(error.sentence, cause)
            return nil
        }
    }

    /// Keeps the rules of the replaced board and puts them in force. Nil if they are refused, or if
    /// the files have rules by now.
    mutating func restore(_ rules: BoardConfiguration) -> AgentEvent? {
        guard inForce.settings.backsUpConfiguration, inForce.texts.isEmpty, fault == nil
        else { return nil }
        defer { report = makeReport() }
        do throws(AgentFailure) {
            // The files may have rules that are not in force yet.
            guard try RuleContent(folder: inForce.content.folder) == inForce.content else {
                return nil
            }
            let rules = try RestoredRules(rules, for: inForce.settings)
            guard !rules.isEmpty else {
                throw AgentFailure(.badConfiguration, "they have no policy and no route")
            }
            try rules.write(to: inForce.settings.stateDir)
            let read = try BoardFiles(inForce.content, since: inForce)
            let event = adopt(read)
            if let words = inForce.restoredWords { log.info("\(words)") }
            return event
        } catch {
            log.error("the rules of the replaced board are refused: \(error.sentence)")
            return nil
        }
    }

    private mutating func adopt(_ read: BoardFiles) -> AgentEvent {
        let keys = read.settings.keysUnlike(inForce.settings)
        if !keys.isEmpty, keys != waiting {
            let list = keys.joined(separator: ", ")
            log.warning("agent.toml: only routes change now; these wait for a restart: \(list)")
        }
        waiting = keys
        fault = nil
        inForce = inForce.adopting(read)
        removeSuperseded()
        loadedAt = Timestamp(milliseconds: SystemClock.wallMilliseconds)
        return .rules(
            inForce.policy, RouteTable(inForce.settings.routes), texts: inForce.texts)
    }

    private func removeSuperseded() {
        do throws(AgentFailure) {
            try RestoredRules.remove(
                policy: inForce.content.hasPolicy, routes: inForce.hasOwnRoutes,
                in: inForce.settings.stateDir)
        } catch {
            log.error("a restored file that is not in force is not removed: \(error.sentence)")
        }
    }

    /// Logs a fault once; after a signal, logs it again.
    private mutating func refuse(_ sentence: String, _ cause: Cause) {
        if fault != sentence || cause == .signal {
            log.error("\(sentence); the old rules stay in force")
        }
        fault = sentence
    }

    private func makeReport() -> JSONValue {
        let policy = inForce.policy
        var members: [String: JSONValue] = [
            "rules": .integer(Int64(policy?.rules.count ?? 0)),
            "default": .string(policy?.allowsByDefault == false ? "deny" : "allow"),
            "routes": .integer(Int64(inForce.settings.routes.count)),
            "loadedAt": .time(loadedAt),
            "digest": inForce.content.digest.map(JSONValue.string) ?? .null,
            "waiting": .array(waiting.map(JSONValue.string)),
        ]
        if let fault { members["fault"] = .string(fault) }
        members["restored"] = inForce.restoredWords.map(JSONValue.string)
        return .object(members)
    }
}
