/// Settings that each authority reads from its own file, but that all on one store must share.
package struct SharedSettings: Equatable, Sendable {
    /// The keys are the names in `authority.toml`.
    private var values: [Name: String]

    package enum Name: String, Sendable, CaseIterable {
        case topicRoot = "topic_root"
        case applicationID = "http.app_id"
        /// The issuer of access tokens. A paired board checks its tokens against it.
        case publicURL = "http.public_url"
    }

    package init(topicRoot: String, applicationID: String, publicURL: String) {
        values = [
            .topicRoot: topicRoot, .applicationID: applicationID, .publicURL: publicURL,
        ]
    }

    /// Nil if a setting is missing.
    package init?(lines: some Sequence<String>) {
        values = [:]
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Name(rawValue: String(parts[0])) else { continue }
            values[name] = String(parts[1])
        }
        guard values.count == Name.allCases.count else { return nil }
    }

    /// One line for each setting, such as `topic_root=postern/v1`.
    package var lines: [String] {
        Name.allCases.map { "\($0.rawValue)=\(values[$0] ?? "")" }
    }

    /// Describes each setting that differs from the stored one.
    package func differences(from kept: SharedSettings) -> [String] {
        Name.allCases.filter { values[$0] != kept.values[$0] }.map {
            "\($0.rawValue) is \"\(values[$0] ?? "")\" here and \"\(kept.values[$0] ?? "")\" in "
                + "the store"
        }
    }
}
