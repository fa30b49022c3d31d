import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("Routes of providers' buttons")
struct ProviderRouteTests {
    private static let start = "/postern/v1/console/providers/facebook"

    /// As a link does: without the application's id, and without following.
    private func open(
        _ console: RunningConsole, _ path: String, _ headers: [String: String] = [:]
    ) async throws -> RunningConsole.Reply {
        try await console.send(.GET, path, application: nil, token: nil, headers: headers)
    }

    @Test("lead to the provider with a cookie of this visit")
    func start() async throws {
        try await RunningConsole.with { console in
            for site in ["same-origin", "none", ""] {
                let headers = site.isEmpty ? [:] : ["Sec-Fetch-Site": site]
                let reply = try await open(console, Self.start, headers)
                #expect(reply.status == 303)
                #expect(reply.headers["location"] == ["https://login.example/"])
                #expect(reply.headers["set-cookie"] == [
                    "postern_provider=visit; Path=/; HttpOnly; SameSite=Lax; Max-Age=600",
                ])
                #expect(reply.headers["referrer-policy"] == ["no-referrer"])
                #expect(reply.headers["cache-control"] == ["no-store"])
            }
            let named = try await open(console, Self.start, ["Host": "authority.example"])
            #expect(named.headers["set-cookie"] == [
                "__Host-postern_provider=visit; Path=/; HttpOnly; SameSite=Lax; Secure; "
                    + "Max-Age=600",
            ])
            _ = try await open(console, Self.start + "?again=true")
            #expect(await console.frontend.calls.last == "depart again")
        }
    }

    @Test("begin nothing for another site's link")
    func otherSite() async throws {
        try await RunningConsole.with { console in
            for site in ["cross-site", "same-site"] {
                let reply = try await open(console, Self.start, ["Sec-Fetch-Site": site])
                #expect(reply.status == 303)
                #expect(reply.headers["location"].first?.hasSuffix("/") == true)
                #expect(reply.headers["set-cookie"].isEmpty)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("come back to the page with a session, and without the visit's cookie")
    func callback() async throws {
        try await RunningConsole.with { console in
            let publicURL = console.frontend.info.publicURL
            let reply = try await open(
                console, Self.start + "/callback?code=c&state=s",
                ["Cookie": "postern_provider=mine", "Sec-Fetch-Site": "cross-site"])
            #expect(reply.status == 303)
            #expect(reply.headers["location"] == ["\(publicURL)/#login=done"])
            let cookies = reply.headers["set-cookie"]
            #expect(cookies.count == 2)
            #expect(cookies.first?.hasPrefix("postern_session=\(StubFrontend.token); ") == true)
            #expect(cookies.first?.contains("SameSite=Strict") == true)
            #expect(cookies.last == "postern_provider=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")
            #expect(!reply.text.contains(StubFrontend.token))
            #expect(await console.frontend.calls.first == "arrive, visit mine")
            // A cookie that comes twice is somebody else's.
            _ = try await open(
                console, Self.start + "/callback?state=s",
                ["Cookie": "postern_provider=mine; postern_provider=yours"])
            #expect(await console.frontend.calls.contains("arrive, visit none"))
        }
    }

    @Test("come back with a problem's name alone", arguments: ProviderProblem.allCases)
    func problem(problem: ProviderProblem) async throws {
        try await RunningConsole.with { console in
            let reply = try await open(
                console, Self.start + "/callback?state=\(problem.rawValue)"
                    + "&error_description=%3Cscript%3E&error_uri=https%3A%2F%2Fevil.example")
            let publicURL = console.frontend.info.publicURL
            #expect(reply.headers["location"] == ["\(publicURL)/#login=\(problem.rawValue)"])
            #expect(reply.headers["set-cookie"].allSatisfy { $0.hasSuffix("Max-Age=0") })
        }
    }

    @Test("tell a provider that is away from a failure of the authority", arguments: [
        ("token endpoint of facebook", "away"), ("description of facebook", "away"),
        ("keys of facebook", "away"), ("store", "failed"), ("hashes", "failed"),
    ])
    func failure(layer: String, problem: String) async throws {
        try await RunningConsole.with { console in
            await console.frontend.fail(with: .failed(layer: layer, text: "no more"))
            for path in [Self.start, Self.start + "/callback?state=s"] {
                let reply = try await open(console, path)
                let publicURL = console.frontend.info.publicURL
                #expect(reply.headers["location"] == ["\(publicURL)/#login=\(problem)"])
            }
        }
    }

    @Test("are not there for a provider without a button", arguments: [
        "eve", "Facebook", "password/callback",
    ])
    func unknown(path: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await open(console, "/postern/v1/console/providers/" + path)
            #expect(reply.status == 404 && reply.code == 101)
        }
    }
}
