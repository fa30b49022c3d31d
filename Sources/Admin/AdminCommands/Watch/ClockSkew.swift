import HTTPClient
import Sessions

extension AuthorityClient {
    /// How far the authority's clock is ahead of this machine's, to a second or two. Nil if it does
    /// not answer, or sends no date. Source: RFC 9110 §6.6.1.
    func clockSkew(now: @Sendable () -> Timestamp) async -> Duration? {
        do {
            var request = try request("GET", "/postern/v1/health")
            request.limit = .seconds(10)
            return try await request.answer().date.map { $0 - now() }
        } catch {
            return nil
        }
    }
}
