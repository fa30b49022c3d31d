import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Sessions

extension AuthorityClient {
    /// How far the authority's clock is ahead of this machine's, to a second or two; nil where
    /// it does not answer, or does not say. Source: RFC 9110 §6.6.1.
    func clockSkew(now: @Sendable () -> Timestamp) async -> Duration? {
        do {
            let header = try await HTTPClient.withHTTPClient(configuration: configuration()) {
                let request = HTTPClientRequest(url: url.description + "/postern/v1/health")
                return try await $0.execute(request, timeout: .seconds(10))
                    .headers.first(name: "Date")
            }
            return header.flatMap(Self.time).map { $0 - now() }
        } catch {
            return nil
        }
    }

    /// Source: RFC 9110 §5.6.7, IMF-fixdate.
    static func time(_ header: String) -> Timestamp? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: header) else { return nil }
        return Timestamp(seconds: Int64(date.timeIntervalSince1970))
    }
}
