import ConfigurationFiles
import Gate
import Sessions
import Wire

/// Reads rules from wherever they are written, and sees that none opens what is closed.
package enum PolicyOracle {
    /// What is wrong with how an input is read. Its first byte says as what.
    package static func complaint(about input: [UInt8]) -> String? {
        guard let choice = input.first else { return nil }
        let bytes = Array(input.dropFirst())
        let text = String(decoding: bytes, as: UTF8.self)
        switch choice {
        case UInt8(ascii: "b"): return board(text)
        case UInt8(ascii: "s"): return scope(bytes)
        case UInt8(ascii: "t"): return type(text)
        default: return policy(text)
        }
    }

    private static func policy(_ text: String) -> String? {
        do throws(SettingsError) {
            let policy = try PolicyFile.parse(text, file: "policy.toml")
            let lines = policy.rules.map(\.id.description)
            guard Set(lines).count == lines.count else { return "two rules of one name" }
            return types(policy.rules) ?? opened(Gate(policy: policy, scope: nil), policy.rules)
        } catch {
            return complaint(about: error, in: text)
        }
    }

    private static func board(_ text: String) -> String? {
        do throws(SettingsError) {
            let settings = try BoardSettings.parse(
                text, file: "agent.toml", environment: { _ in nil })
            let isOpen = settings.routes.contains { $0.className?.isReserved == true }
            return isOpen ? "a route to a class of the system's" : nil
        } catch {
            return complaint(about: error, in: text)
        }
    }

    /// An error's place has to be one that the person who reads it can go to.
    private static func complaint(about error: SettingsError, in text: String) -> String? {
        let lines = text.utf8.count { $0 == UInt8(ascii: "\n") } + 1
        if let line = error.line, !(1...lines).contains(line) { return "no such line: \(error)" }
        if let column = error.column, !(1...text.utf8.count + 1).contains(column) {
            return "no such column: \(error)"
        }
        return error.message.isEmpty ? "an error without a word" : nil
    }

    private static func scope(_ bytes: [UInt8]) -> String? {
        guard let json = try? JSONValue(parsing: bytes),
            let scope = try? Scope(ScopeDocument(unchecked: json))
        else { return nil }
        return types(scope.rules) ?? opened(Gate(policy: nil, scope: scope), scope.rules)
    }

    private static func type(_ text: String) -> String? {
        guard let type = try? FieldType(text) else { return nil }
        return complaint(about: type)
    }

    private static func types(_ rules: [Rule]) -> String? {
        for rule in rules {
            for (name, type) in rule.fields ?? [:] {
                guard FieldType.nameFault(name) == nil else { return "a field named \(name)" }
                if let complaint = complaint(about: type) { return complaint }
            }
            if let size = rule.maxBytes, (try? ByteCount(size.description)) != size {
                return "\(size) is not read back"
            }
        }
        return nil
    }

    private static func complaint(about type: FieldType) -> String? {
        guard isPrintable(type.value) else { return nil }
        return (try? FieldType(type.description)) == type ? nil : "\(type) is not read back"
    }

    /// An object with fields has no text of its own.
    private static func isPrintable(_ type: ValueType) -> Bool {
        switch type {
        case .object(let fields): fields == nil
        case .array(let element, _): isPrintable(element)
        default: true
        }
    }

    /// Whether some app may write a class that no rule can open.
    private static func opened(_ gate: Gate, _ rules: [Rule]) -> String? {
        let apps = Set(rules.compactMap(\.app)).union(["thermo"].compactMap { AppName($0) })
        let classes = ["_User", "_Session", "_Role", "_Join"].compactMap { ClassName($0) }
        for (app, name) in apps.flatMap({ app in classes.map { (app, $0) } }) {
            for operation in Operation.allCases {
                let write = Write(
                    app: app, className: name, operation: operation, payload: Array("{}".utf8))
                if case .allow = gate.decide(write) { return "\(app) may \(operation) \(name)" }
            }
        }
        return nil
    }
}
