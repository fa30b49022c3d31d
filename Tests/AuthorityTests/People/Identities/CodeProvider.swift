import AuthorityCore
import Sessions
import Synchronization
import Wire

@testable import AuthorityService

/// A provider with a button on the page. It gives id tokens for codes, and notes what it is asked.
final class CodeProvider: AuthorizationCodes {
    /// What becomes of the next codes.
    enum Answer: Sendable {
        case token(changing: [String: JSONValue?])
        case problem(ProviderProblem)
        case away
    }

    let provider: IDProvider
    let clock: TestClock
    private let answer = Mutex(Answer.token(changing: [:]))
    private let entrance = Mutex(
        ProviderEntrance(address: "https://login.example/in?tenant=1", namesItself: false))
    private let asked = Mutex<[AuthorizationCode]>([])
    /// As the browser brought it to the provider.
    private let nonce = Mutex("")

    init(_ house: House, named name: String = "facebook") throws {
        provider = try IDProvider(name)
        clock = house.clock
    }

    var codes: [AuthorizationCode] { asked.withLock { $0 } }

    func answers(_ next: Answer) { answer.withLock { $0 = next } }

    func namesItself() {
        entrance.withLock { $0 = ProviderEntrance(address: $0.address, namesItself: true) }
    }

    func entrance(
        of provider: LoginProvider
    ) async throws(AuthorityError) -> ProviderEntrance { entrance.withLock { $0 } }

    func token(
        for code: AuthorizationCode, at name: LoginProvider
    ) async throws(AuthorityError) -> Result<IDToken, ProviderProblem> {
        asked.withLock { $0.append(code) }
        switch answer.withLock({ $0 }) {
        case .problem(let problem): return .failure(problem)
        case .away: throw .failed(layer: "token endpoint", text: "TCP: away")
        case .token(let changes):
            var claims = IDProvider.claims(of: "7", at: clock.now)
            claims["nonce"] = .string(nonce.withLock { $0 })
            for (name, value) in changes { claims[name] = value }
            guard let text = try? provider.sign(claims), let token = IDToken(text) else {
                return .failure(.code)
            }
            return .success(token)
        }
    }

    /// An authority of the house with this button.
    func authority(_ house: House, signUp: Bool = true) -> Authority {
        house.reconfigured(
            providers: [
                provider.rule(
                    signUp: signUp,
                    entry: IdentityProvider.PageEntry(clientID: "us", title: "Face")),
            ],
            signatures: IDTokenCheck(testing: [provider.name: provider.place]), codes: self)
    }

    /// What the provider sees of a departure.
    func receive(_ departure: ProviderDeparture) -> [String: String] {
        var members: [String: String] = [:]
        for pair in departure.address.split(separator: "?", maxSplits: 1)[1].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            members[parts[0]] = PercentEncoding.decode(parts[1])
        }
        nonce.withLock { $0 = members["nonce"] ?? "" }
        return members
    }

    func arrival(
        _ visit: SecretBytes?, _ state: String?, code: String? = "a code", error: String? = nil,
        issuer: String? = nil, origin: String = "192.0.2.1"
    ) -> ProviderArrival {
        ProviderArrival(
            provider: provider.name, visit: visit, state: state, code: code, error: error,
            issuer: issuer, origin: origin)
    }

    /// One whole login.
    func login(
        _ authority: Authority, isAgain: Bool = false, error: String? = nil, issuer: String? = nil
    ) async throws -> Result<LoggedIn, ProviderProblem> {
        let departure = try await authority.departure(to: provider.name, isAgain: isAgain)
        let state = receive(departure)["state"]
        return try await authority.login(
            arrival(departure.visit, state, error: error, issuer: issuer))
    }
}
