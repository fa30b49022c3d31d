import AuthorityCore
import Testing

@testable import AuthorityService

@Suite("A provider's description")
struct ProviderMetadataTests {
    private static let whole = """
        {"issuer": "https://a.example/t", "authorization_endpoint": "https://b.example/in?p=1",
         "token_endpoint": "https://c.example:8/token", "scopes_supported": ["openid"]
        """

    private func parse(_ more: String = "}", replacing old: String = "", _ new: String = "")
        -> ProviderMetadata?
    {
        let text = old.isEmpty ? Self.whole : Self.whole.replacing(old, with: new)
        return ProviderMetadata(parsing: Array((text + more).utf8), of: "https://a.example/t")
    }

    @Test("has the addresses, how the secret is sent, and whether answers name the provider")
    func whole() throws {
        let plain = try #require(parse())
        #expect(plain.entrance == ProviderEntrance(
            address: "https://b.example/in?p=1", namesItself: false))
        #expect(plain.tokenEndpoint == "https://c.example:8/token")
        #expect(!plain.takesSecretInBody)
        let methods = #", "token_endpoint_auth_methods_supported": ["#
        #expect(parse(methods + #""client_secret_post"]}"#)?.takesSecretInBody == true)
        #expect(parse(methods + #""client_secret_post", "client_secret_basic"]}"#)?
            .takesSecretInBody == false)
        #expect(parse(#", "authorization_response_iss_parameter_supported": true}"#)?
            .entrance.namesItself == true)
    }

    @Test("is refused if it is another issuer's, or leads over plain HTTP", arguments: [
        ("https://a.example/t", "https://a.example/t/"),
        ("https://a.example/t", "https://b.example"),
        ("https://b.example/in", "http://b.example/in"), ("https://b.example", "javascript:"),
        ("https://b.example", "https://u@b.example"), ("https://c.example", "http://127.0.0.1"),
        ("token_endpoint", "no_endpoint"), ("\"issuer\": ", "\"issuer\": 1, \"x\": "),
    ])
    func refused(old: String, new: String) {
        #expect(parse(replacing: old, new) == nil)
    }

    @Test("may name plain HTTP on loopback where the issuer is there itself")
    func loopback() throws {
        let issuer = "http://127.0.0.1:7"
        func parse(_ token: String) -> ProviderMetadata? {
            let text = """
                {"issuer": "\(issuer)", "authorization_endpoint": "\(issuer)/in",
                 "token_endpoint": "\(token)"}
                """
            return ProviderMetadata(parsing: Array(text.utf8), of: issuer)
        }
        #expect(parse("http://localhost:8/token") != nil)
        #expect(parse("http://192.0.2.1:8/token") == nil)
    }

    @Test("is read from below the issuer")
    func address() {
        for issuer in ["https://a.example/t", "https://a.example/t/"] {
            #expect(ProviderMetadata.address(of: issuer)
                == "https://a.example/t/.well-known/openid-configuration")
        }
    }
}

@Suite("The limit of exchanges")
struct ProviderMetadataLimitTests {
    @Test("is 16, and four of one address")
    func exchanges() {
        var limit = CodeExchangeLimit()
        func enter(_ number: Int) -> Bool { limit.enter(CountedOrigin("192.0.2.\(number)")) }
        #expect((0..<5).map { _ in enter(1) } == [true, true, true, true, false])
        limit.leave(CountedOrigin("192.0.2.1"))
        #expect(enter(1))
        #expect((2..<14).allSatisfy(enter))
        #expect(!enter(14))
        limit.leave(CountedOrigin("192.0.2.2"))
        #expect(enter(14))
    }
}
