import AuthorityCore
import HTTPTypes
import Hummingbird
import Sessions
import Wire

/// The page's buttons for login providers. A browser comes here by a link and by the provider's
/// redirect, so each answer leads to another address: the provider's, or the page's.
///
/// No form and no script is involved: the page's `form-action 'none'` stays.
struct ProviderRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/console/providers/:provider", .open(depart)).asking(),
            HTTPRoute(.get, "/console/providers/:provider/callback", .open(arrive)).asking(),
        ]
    }

    /// Leads to the provider. A link on another site leads to the page instead, so that no other
    /// site begins a login here. `?again=true` makes the provider ask who the person is.
    private func depart(_ call: Call) async throws(AuthorityError) -> Answer {
        let provider = try call.parameter("provider", LoginProvider.init)
        let isAgain = try call.flag("again")
        guard call.isFromOwnPage else { return page() }
        do throws(AuthorityError) {
            let departure = try await frontend.departure(to: provider, isAgain: isAgain)
            var answer = Answer(leadingTo: departure.address)
            answer.headers[.setCookie] = call.cookie.keeping(departure)
            return answer
        } catch {
            return try page(after: error)
        }
    }

    /// Leads to the page, logged in or with the problem's name. What the provider wrote goes no
    /// further.
    private func arrive(_ call: Call) async throws(AuthorityError) -> Answer {
        let provider = try call.parameter("provider", LoginProvider.init)
        func text(_ name: String) throws(AuthorityError) -> String? {
            try call.queried(name) { $0 }
        }
        let arrival = ProviderArrival(
            provider: provider, visit: call.providerVisit, state: try text("state"),
            code: try text("code"), error: try text("error"), issuer: try text("iss"),
            origin: call.origin)
        var answer: Answer
        do throws(AuthorityError) {
            switch try await frontend.login(arrival) {
            case .success(let login):
                answer = page("done")
                answer.headers.append(
                    HTTPField(name: .setCookie, value: call.cookie.keeping(login)))
            case .failure(let problem): answer = page(after: problem)
            }
        } catch {
            answer = try page(after: error)
        }
        answer.headers.append(
            HTTPField(name: .setCookie, value: call.cookie.forgettingProviderVisit))
        return answer
    }

    /// Leads to the page, with the failure for the log. A provider without a button is 404, as any
    /// address that is not there.
    private func page(after error: AuthorityError) throws(AuthorityError) -> Answer {
        switch error {
        case .refused(let refusal) where refusal.is(.notFound): throw .noObject
        case .refused(let refusal) where refusal.is(.rateLimit): return page(after: .often)
        case .refused: return page(after: .failed)
        case .failed(let layer, let text):
            let isAway = Self.layersOfProvider.contains { layer.hasPrefix($0) }
            var answer = page(after: isAway ? .away : .failed)
            answer.fault = "\(layer): \(text)"
            return answer
        }
    }

    /// These layers failed because the provider did. All others are the authority's own.
    private static let layersOfProvider = ["description of ", "token endpoint of ", "keys of "]

    private func page(after problem: ProviderProblem) -> Answer { page(problem.rawValue) }

    /// The address of the page is the configured one. No request can change it.
    private func page(_ outcome: String? = nil) -> Answer {
        let place = outcome.map { "#login=\($0)" } ?? ""
        return Answer(leadingTo: "\(frontend.info.publicURL)/\(place)")
    }
}
