import AgentCore
import AgentService
import ArgumentParser
import ConfigurationFiles
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy test`: runs a file of cases. Each case is a write and the expected
/// decision.
struct PolicyTestCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Compare the policy with a file of cases.",
        discussion: """
            A case is a table [[case]] with app, op and class (none for op = "command"), or a \
            topic, a payload or \
            payload_file, and expect = "allow" or "deny"; name, rule, code and field are \
            compared where they are given. Rates do not count, and without --scope or \
            --with-session no scope applies: cases are the same on every board. Exit status: 0 \
            all agree, 1 one does not, 2 there is no case or no such file, 78 a file is \
            malformed or names a payload that is not there.
            """)

    @OptionGroup var place: BoardPlace
    @OptionGroup var source: PolicySource

    @Flag(help: "Apply the scope of this board's session, too.")
    var withSession = false

    @Argument(help: "The file of cases.")
    var file: String

    func perform() throws(AgentFailure) -> ExitStatus {
        let judged = try PolicyInputs(place, source, session: withSession ? .yes : .no)
        let cases = try readCases()
        guard !cases.isEmpty else { throw AgentFailure(.usage, "\(file): there is no [[case]]") }
        var results: [CaseResult] = []
        for one in cases {
            let decision = judged.trial.decision(on: one.subject, try payload(of: one))
            results.append(CaseResult(case: one, found: decision))
        }
        report(judged, results)
        return results.allSatisfy(\.agrees) ? .ok : .failed
    }

    private func readCases() throws(AgentFailure) -> [PolicyCase] {
        let text = try PolicyInputs.text(file)
        do throws(SettingsError) {
            return try CaseFile.parse(text, file: file)
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    private func payload(of one: PolicyCase) throws(AgentFailure) -> [UInt8] {
        switch one.payload {
        case .text(let text): return Array(text.utf8)
        case .file(let path):
            do throws(AgentFailure) {
                return try PolicyInputs.payload(path.hasPrefix("/") ? path : folder + path)
            } catch {
                // The file of cases names the payload, so a missing one is not wrong usage.
                let status = error.status == .usage ? .badConfiguration : error.status
                throw AgentFailure(status, "\(file):\(one.line): \(error.sentence)")
            }
        }
    }

    /// The folder of the file of cases, with a slash at its end.
    private var folder: String {
        guard let slash = file.lastIndex(of: "/") else { return "" }
        return String(file[...slash])
    }

    private func report(_ judged: PolicyInputs, _ results: [CaseResult]) {
        let failed = results.count { !$0.agrees }
        guard !place.json else {
            ProcessEnd.say(
                JSONValue.object([
                    "file": .string(judged.file), "cases": .array(results.map(\.json)),
                    "passed": .integer(Int64(results.count - failed)),
                    "failed": .integer(Int64(failed)),
                ]).text, to: .output)
            return
        }
        for result in results { ProcessEnd.say(result.line(in: file), to: .output) }
        let total = results.count == 1 ? "1 case" : "\(results.count) cases"
        ProcessEnd.say(
            failed == 0 ? "\(total), all as expected" : "\(total), \(failed) not as expected",
            to: .output)
    }
}

/// A case and the gate's decision.
private struct CaseResult {
    let `case`: PolicyCase
    /// Nil if the case is not a write, so there is no decision.
    let found: Decision?

    var agrees: Bool { found.map(`case`.expected.agrees) ?? false }

    private var name: String {
        if let name = `case`.name { return name }
        return switch `case`.subject {
        case .topic(let topic): topic
        case .write(let app, let operation, let name): "\(app) \(operation.rawValue) \(name)"
        case .command(let app): "\(app) command"
        }
    }

    private var foundText: String { found.map(\.description) ?? "no write: nobody reads the topic" }

    func line(in file: String) -> String {
        let head = "\(agrees ? "✓" : "✗") \(file):\(`case`.line): \(name): expected "
            + "\(`case`.expected), found \(foundText)"
        guard !agrees, case .deny(let rejection) = found else { return PlainText.line(head) }
        return PlainText.line("\(head): \(rejection.reason)")
    }

    var json: JSONValue {
        var members = found?.members ?? ["decision": .string("none")]
        members["line"] = .integer(Int64(`case`.line))
        members["name"] = .string(name)
        members["agrees"] = .bool(agrees)
        members["expected"] = .string(`case`.expected.description)
        members["found"] = .string(foundText)
        return .object(members)
    }
}
