/// Rules sorted by class, so that a decision looks only at those that can match.
struct RuleIndex: Sendable {
    private let byClass: [ClassName: [Rule]]
    /// The rules for `*`, for a class that no rule names.
    private let others: [Rule]

    init(_ rules: [Rule]) {
        let names = Set(rules.compactMap(\.className))
        byClass = Dictionary(uniqueKeysWithValues: names.map { name in
            (name, rules.filter { $0.className == nil || $0.className == name })
        })
        others = rules.filter { $0.className == nil }
    }

    /// The first rule for this app and class, in the order they were written.
    func first(matching write: borrowing Write) -> Rule? {
        let app = write.app
        return (byClass[write.className] ?? others).first { $0.app == nil || $0.app == app }
    }
}
