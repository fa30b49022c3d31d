import AuthorityCore
import Testing

@testable import AuthorityHTTP

/// One that a test's expectations may change.
private final class Allowance {
    private var value = BodyRateLimit()

    func take(_ count: Int, from origin: CountedOrigin, at now: Duration) -> Bool {
        value.take(count, from: origin, at: now)
    }
}

@Suite("Body allowance")
struct BodyRateLimitTests {
    private let one = CountedOrigin("192.0.2.1")

    @Test("gives an address its burst, then so many bytes a second")
    func address() {
        let allowance = Allowance()
        for _ in 0..<8 { #expect(allowance.take(64 << 10, from: one, at: .zero)) }
        #expect(!allowance.take(1, from: one, at: .zero))
        #expect(!allowance.take(64 << 10, from: one, at: .milliseconds(499)))
        #expect(allowance.take(64 << 10, from: one, at: .milliseconds(1001)))
        // Who waits for ever has the burst, no more.
        #expect(!allowance.take((512 << 10) + 1, from: one, at: .seconds(3600)))
        #expect(allowance.take(512 << 10, from: one, at: .seconds(3600)))
    }

    @Test("leaves another address its own")
    func another() {
        let allowance = Allowance()
        #expect(allowance.take(512 << 10, from: one, at: .zero))
        #expect(!allowance.take(1, from: one, at: .zero))
        #expect(allowance.take(512 << 10, from: CountedOrigin("192.0.2.2"), at: .zero))
        // Of IPv6 a network is one.
        #expect(allowance.take(512 << 10, from: CountedOrigin("2001:db8::1"), at: .zero))
        #expect(!allowance.take(1, from: CountedOrigin("2001:db8::2"), at: .zero))
    }

    @Test("is bounded for all addresses together, and remembers so many")
    func all() {
        let allowance = Allowance()
        let taken = (0..<32).count {
            allowance.take(512 << 10, from: CountedOrigin("192.0.2.\($0)"), at: .zero)
        }
        #expect(taken == 16)
        // Small ones that nobody notices, of more addresses than are remembered.
        for number in 0..<20_001 {
            _ = allowance.take(0, from: CountedOrigin("a\(number)"), at: .seconds(9))
        }
        #expect(allowance.take(512 << 10, from: one, at: .seconds(9)))
    }
}
