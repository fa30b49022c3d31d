/// Finds operations that a rule allows and the session's scope never allows.
extension PolicyLint {
    func scopeFindings(_ rule: Rule) -> [PolicyFinding] {
        guard let scope, !rule.allow.isEmpty, rule.className?.isReserved != true else { return [] }
        let verdicts = scope.verdicts(on: rule)
        let refused = Operation.allCases.filter { operation in
            rule.allow.contains(operation) && verdicts.allSatisfy { !$0.permits(operation) }
        }
        if !refused.isEmpty {
            let names = refused.map(\.rawValue).joined(separator: ", ")
            let deciding = verdicts.map(\.id.description).joined(separator: ", ")
            let remedy = refused.count == rule.allow.count
                ? "drop the rule, or ask for a wider scope" : "remove that from allow"
            return [finding(.scopeForbids, rule, """
                allows \(names), which the session's scope refuses (\(deciding)), so it never \
                passes; \(remedy)
                """)]
        }
        return size(rule, verdicts)
    }

    /// Reports a `max_bytes` above the `max_bytes` of all scope rules that could allow the write.
    private func size(_ rule: Rule, _ verdicts: [ScopeVerdict]) -> [PolicyFinding] {
        guard let size = rule.maxBytes else { return [] }
        let permitting = verdicts.filter { verdict in
            rule.allow.contains { verdict.permits($0) }
        }
        let limits = permitting.compactMap(\.maxBytes)
        guard limits.count == permitting.count, let most = limits.max(), size > most else {
            return []
        }
        let deciding = permitting.map(\.id.description).joined(separator: ", ")
        return [finding(.sizeNotReached, rule, """
            max_bytes is \(size), but the session's scope lets \(most) pass (\(deciding)); lower \
            it
            """)]
    }
}

/// The limits of one scope rule, or of the scope's default.
private struct ScopeVerdict {
    let id: RuleID
    let allow: Set<Operation>
    let maxBytes: ByteCount?

    func permits(_ operation: Operation) -> Bool { allow.contains(operation) }
}

extension Scope {
    /// All scope rules that may decide about a write that `rule` matches, in order, up to one that
    /// matches all these writes. None is left out, so an operation that all refuse is refused.
    fileprivate func verdicts(on rule: Rule) -> [ScopeVerdict] {
        let wanted = Pattern(rule)
        var verdicts: [ScopeVerdict] = []
        var taken: Set<Pattern> = []
        for own in rules {
            // Writes that an earlier rule matches completely never reach this rule.
            guard let shared = Pattern(own).within(wanted),
                taken.isDisjoint(with: shared.asWideOrWider)
            else { continue }
            verdicts.append(ScopeVerdict(id: own.id, allow: own.allow, maxBytes: own.maxBytes))
            if shared == wanted { return verdicts }
            taken.insert(shared)
        }
        let operations = allowsByDefault ? Operation.allCases : []
        verdicts.append(
            ScopeVerdict(id: .scopeDefault, allow: Set(operations), maxBytes: nil))
        return verdicts
    }
}
