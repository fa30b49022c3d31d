/// What each authority reads from a file of its own, and all on one store must have alike.
package struct SharedSettings: Equatable, Sendable {
    /// Under the names of `authority.toml`.
    private var values: [Name: String]

    package enum Name: String, Sendable, CaseIterable {
        case topicRoot = "topic_root"
        case applicationID = "http.app_id"
        /// The issuer of access tokens, which a board that is paired holds its own to.
        case publicURL = "http.public_url"
    }

    package init(topicRoot: String, applicationID: String, publicURL: String) {
        values = [
            .topicRoot: topicRoot, .applicationID: applicationID, .publicURL: publicURL,
        ]
    }

    /// Nil where one is missing.
    package init?(lines: some Sequence<String>) {
        values = [:]
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Name(rawValue: String(parts[0])) else { continue }
            values[name] = String(parts[1])
        }
        guard values.count == Name.allCases.count else { return nil }
    }

    /// `topic_root=postern/v1`, one for each.
    package var lines: [String] {
        Name.allCases.map { "\($0.rawValue)=\(values[$0] ?? "")" }
    }

    /// In what these differ from those, in words.
    package func differences(from kept: SharedSettings) -> [String] {
        Name.allCases.filter { values[$0] != kept.values[$0] }.map {
            "\($0.rawValue) is \"\(values[$0] ?? "")\" here and \"\(kept.values[$0] ?? "")\" in "
                + "the store"
        }
    }
}
