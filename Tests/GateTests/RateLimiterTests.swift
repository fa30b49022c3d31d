import Gate
import Sessions
import Testing

@Suite("Rate limiter")
struct RateLimiterTests {
    private let app = AppName("thermo")

    @Test("lets a burst through and then one each interval")
    func burst() throws {
        let app = try #require(app)
        var limiter = RateLimiter()
        let rates = AppliedRates(app: .init(rule: .policyApp(app), rate: try Rate("4/s")))
        let start = Duration.seconds(1000)
        for _ in 1...4 { #expect(limiter.admit(app, rates, at: start) == nil) }
        let rejection = limiter.admit(app, rates, at: start)
        #expect(rejection?.code == .rateLimit)
        #expect(rejection?.rule.description == "policy.toml:app.thermo")
        #expect(limiter.admit(app, rates, at: start + .milliseconds(249)) != nil)
        #expect(limiter.admit(app, rates, at: start + .milliseconds(250)) == nil)
        #expect(limiter.admit(app, rates, at: start + .milliseconds(250)) != nil)
        for _ in 1...4 { #expect(limiter.admit(app, rates, at: start + .seconds(9)) == nil) }
        #expect(limiter.admit(app, rates, at: start + .seconds(9)) != nil)
    }

    @Test("lets as many come at once as the rate's burst says", arguments: [1, 4, 7, 40] as [Int64])
    func burst(size: Int64) throws {
        let app = try #require(app)
        var limiter = RateLimiter()
        let rates = AppliedRates(
            app: .init(rule: .policyApp(app), rate: try Rate("4/s").with(burst: size)))
        let start = Duration.seconds(1000)
        for _ in 0..<size { #expect(limiter.admit(app, rates, at: start) == nil) }
        #expect(limiter.admit(app, rates, at: start)?.code == .rateLimit)
        #expect(limiter.admit(app, rates, at: start + .milliseconds(250)) == nil)
        #expect(limiter.admit(app, rates, at: start + .milliseconds(250)) != nil)
    }

    @Test("takes nothing of one rate where another is spent")
    func allOrNone() throws {
        let app = try #require(app)
        var limiter = RateLimiter()
        let wide = AppliedRates.Entry(rule: .policyApp(app), rate: try Rate("2/s"))
        let narrow = AppliedRates.Entry(rule: .policy(line: 3), rate: try Rate("1/s"))
        let both = AppliedRates(app: wide, policy: narrow)
        #expect(limiter.admit(app, both, at: .zero) == nil)
        for _ in 1...9 { #expect(limiter.admit(app, both, at: .zero) != nil) }
        #expect(limiter.admit(app, AppliedRates(app: wide), at: .zero) == nil)
        #expect(limiter.admit(app, AppliedRates(app: wide), at: .zero) != nil)
    }

    @Test("is asked with the rates of the app and of the deciding rule")
    func rates() throws {
        let gate = Gate(
            policy: try policy(apps: ["thermo": AppLimit(rate: Rate("9/s"))], [
                rule(5, "Reading", [.create], rate: "3/s"), rule(6, "Log", [.create]),
            ]), scope: nil)
        func ids(_ app: String, _ className: String) throws -> [String] {
            gate.rates(of: try write(app, .create, className)).entries
                .map { "\($0.rule) \($0.rate)" }
        }
        #expect(try ids("thermo", "Reading") == ["policy.toml:app.thermo 9/s", "policy.toml:5 3/s"])
        #expect(try ids("thermo", "Log") == ["policy.toml:app.thermo 9/s"])
        #expect(try ids("door", "Reading") == ["policy.toml:5 3/s"])
        #expect(try ids("door", "Other").isEmpty)
    }

    @Test("keeps its verdicts however many apps come")
    func manyApps() throws {
        var limiter = RateLimiter()
        let rate = try Rate("1/h")
        for number in 0..<3000 {
            let app = try #require(AppName("app-\(number)"))
            let rates = AppliedRates(policy: .init(rule: .policy(line: 1), rate: rate))
            #expect(limiter.admit(app, rates, at: .zero) == nil)
            #expect(limiter.admit(app, rates, at: .seconds(1)) != nil)
        }
    }
}
