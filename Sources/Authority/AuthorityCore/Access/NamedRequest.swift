package import Sessions

/// A request to which its client gave an id, so that it takes effect at most once.
///
/// Source: Parse server, Idempotency (`X-Parse-Request-Id`).
package struct NamedRequest: Equatable, Sendable {
    /// An id of 1 to 100 visible ASCII characters. Parse's SDKs send a UUID.
    package struct ID: Equatable, Sendable, CustomStringConvertible {
        package let description: String

        package init?(_ text: String) {
            guard (1...100).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
            description = text
        }
    }

    /// A user, the master key, or an address without a session. The ids of two holders are
    /// different, even if they are equal.
    let holder: String
    /// Holder, method, route and id. No part but the last contains a line feed.
    let text: String

    /// - `part`: the place in a batch; nil outside of one.
    package init(_ id: ID, part: Int?, route: String, by caller: Caller?, from origin: String) {
        holder = switch caller {
        case nil: "address \(CountedOrigin(origin))"
        case let caller? where caller.isMaster: "master key"
        case let caller?: "user \(caller.user.objectID)"
        }
        let place = part.map { "part \($0)" } ?? "whole"
        text = [holder, route, place, id.description].joined(separator: "\n")
    }

    /// How long an id stays used.
    static let memory = Duration.seconds(300)
    /// How many ids of one holder may be used within `memory`.
    static let limit = 1000
}

/// The ids of requests that took effect.
package protocol NamedRequestTable {
    func isSpent(requestHash: [UInt8], at now: Timestamp) throws(AuthorityError) -> Bool
    /// Returns false if the request was spent before and is still remembered at `now`: of two at
    /// once, one wins.
    func spendRequest(
        hash: [UInt8], of holder: String, until end: Timestamp, at now: Timestamp
    ) throws(AuthorityError) -> Bool
    /// The end of the last but `skipped` of a holder's requests, in order of their ends. Nil if
    /// there are no more than `skipped`.
    func requestEnd(
        of holder: String, skipping skipped: Int
    ) throws(AuthorityError) -> Timestamp?
    /// Deletes at most `limit` and returns how many.
    func deleteRequests(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}

/// The request that an authority works for, with the hash of all that makes it one.
struct RequestToSpend {
    let request: NamedRequest
    let hash: [UInt8]
}

extension Authority {
    package func once(
        _ request: NamedRequest
    ) async throws(AuthorityError) -> any AuthorityFrontend {
        let hash = try cryptography.sha256(Array(request.text.utf8))
        let now = clock()
        // Refuses a repeated request before its password is hashed. `spend` decides.
        let isSpent = try await store.glance { transaction throws(AuthorityError) in
            try transaction.isSpent(requestHash: hash, at: now)
        }
        guard !isSpent else { throw Self.duplicateRequest }
        var copy = self
        copy.request = RequestToSpend(request: request, hash: hash)
        return copy
    }

    /// Uses up the request's id in the transaction of its effect. So a request that is refused or
    /// fails does not use it up.
    func spend(_ transaction: any AuthorityTransaction, at now: Timestamp) throws(AuthorityError) {
        guard let request else { return }
        let holder = request.request.holder
        let end = try transaction.requestEnd(of: holder, skipping: NamedRequest.limit - 1)
        if let end, end > now {
            throw .refused(.tooMany("requests with an X-Parse-Request-Id", wait: end - now))
        }
        let isFirst = try transaction.spendRequest(
            hash: request.hash, of: holder, until: now + NamedRequest.memory, at: now)
        guard isFirst else { throw Self.duplicateRequest }
    }

    /// Parse server's own text.
    private static let duplicateRequest = AuthorityError.refuse(
        .duplicateRequest, "Duplicate request")
}
