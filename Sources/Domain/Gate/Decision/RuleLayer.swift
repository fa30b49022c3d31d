import Sessions

/// One list of rules with its default.
struct RuleLayer: Sendable {
    let rules: [Rule]
    private let hasRates: Bool
    private let allowsByDefault: Bool
    private let defaultID: RuleID
    private let index: RuleIndex

    init(_ rules: [Rule], allowsByDefault: Bool, defaultID: RuleID) {
        self.rules = rules
        self.allowsByDefault = allowsByDefault
        self.defaultID = defaultID
        index = RuleIndex(rules)
        hasRates = rules.contains { $0.rate != nil }
    }

    /// The index of the deciding rule; nil if the default decides.
    func position(of write: borrowing Write) -> Int? {
        index.firstMatch(app: write.app, className: write.className)
    }

    /// The rejection that needs no look at the payload; nil if there is none.
    func verdict(on write: borrowing Write, at position: Int?) -> Rejection? {
        guard let position else {
            return allowsByDefault ? nil : Rejection(.forbidden, defaultID, .noRule)
        }
        let rule = rules[position]
        guard rule.operations.contains(Operations(write.operation)) else {
            return Rejection(
                .forbidden, rule.id, .operation(write.operation, allowed: rule.operations))
        }
        guard let limit = rule.maxBytes else { return nil }
        return write.excess(over: limit, under: rule.id)
    }

    /// The rejection by the deciding rule's `fields`; nil if there is none.
    func payloadVerdict(on write: borrowing Write, at position: Int?) -> Rejection? {
        guard let position, let shape = rules[position].shape,
            let fault = shape.fault(in: write.payload, of: write.operation)
        else { return nil }
        return Rejection(fault, rules[position].id)
    }

    /// The rate that the deciding rule sets.
    func rate(of write: borrowing Write) -> AppliedRates.Entry? {
        guard hasRates, let position = position(of: write), let rate = rules[position].rate else {
            return nil
        }
        return AppliedRates.Entry(rule: rules[position].id, rate: rate)
    }

    /// The decision of this layer alone.
    func decide(_ write: borrowing Write) -> Decision {
        let position = position(of: write)
        if let rejection = verdict(on: write, at: position) { return .deny(rejection) }
        if let rejection = payloadVerdict(on: write, at: position) { return .deny(rejection) }
        return .allow(id(at: position))
    }

    /// The deciding rule; nil if the default decides.
    func rule(for write: borrowing Write) -> Rule? { position(of: write).map { rules[$0] } }

    func id(at position: Int?) -> RuleID {
        if let position { rules[position].id } else { defaultID }
    }
}

extension Write {
    /// The rejection of a payload that has more than `limit` bytes.
    func excess(over limit: ByteCount, under rule: RuleID) -> Rejection? {
        guard payload.count > limit.bytes else { return nil }
        return Rejection(.tooLarge, rule, .tooLarge(bytes: payload.count, limit: limit))
    }
}
