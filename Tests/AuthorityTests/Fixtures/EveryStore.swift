import AuthorityCore
import AuthorityStore
import Foundation
import Testing

/// What a house keeps its records in.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case postgreSQL = "PostgreSQL"

    /// What a house is made with where a test does not say.
    @TaskLocal static var current = StoreKind.sqlite

    var testDescription: String { rawValue }
}

/// Runs a test once with each kind of store: one contract, and each store keeps all of it.
///
/// The kind is in the comment of whatever fails.
struct EveryStore: SuiteTrait, TestTrait, TestScoping {
    var kinds = StoreKind.allCases
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        var failure: (any Error)?
        for kind in kinds {
            let named = IssueHandlingTrait.compactMapIssues { issue in
                var issue = issue
                issue.comments.append("on \(kind.rawValue)")
                return issue
            }
            do {
                try await named.provideScope(for: test, testCase: testCase) {
                    try await StoreKind.$current.withValue(kind) { try await function() }
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}

extension Trait where Self == EveryStore {
    static var everyStore: EveryStore { EveryStore() }

    /// For suites of some hundred cases that ask the store for the same: the file, and the database
    /// only where POSTERN_LONG is set, as `make test-all` does.
    static var everyStoreInLong: EveryStore {
        let isLong = ProcessInfo.processInfo.environment["POSTERN_LONG"] != nil
        return EveryStore(kinds: isLong ? StoreKind.allCases : [.sqlite])
    }
}
