import Sessions
import Testing
import Wire

@testable import AgentCommands

@Suite("Authority behind the claim page")
struct AuthorityPageTests {
    @Test("is asked at an encrypted address, or on this machine", arguments: [
        ("https://authority.example/claim", "https://authority.example/claim"),
        ("https://authority.example:8443/x/claim/", "https://authority.example:8443/x/claim"),
        ("https://[2001:db8::1]/claim", "https://[2001:db8::1]/claim"),
        ("http://127.0.0.1:8080/claim", "http://127.0.0.1:8080/claim"),
        ("http://localhost/claim", "http://localhost/claim"),
        ("http://authority.example/claim", nil), ("http://127.0.0.1.example/claim", nil),
        ("http://127.0.0.1@authority.example/claim", nil), ("https://a.example/claim?x", nil),
        ("http://127.0.0.1\\authority.example/claim", nil), ("https://authority.example/", nil),
        ("https:///claim", nil), ("https://claim", nil), ("postern://claim", nil),
    ] as [(String, String?)])
    func base(text: String, address: String?) {
        #expect(AuthorityPage(base: text, caFile: nil)?.address == address)
    }

    @Test("answers with an object and a status of success")
    func answered() throws {
        let answer = try AuthorityPage.read(Array("{\"state\":\"waiting\"}\n200".utf8))
        #expect(answer.members == ["state": .string("waiting")])
    }

    /// A curl older than 7.84 prints the name of the header in its place.
    @Test("names the time to wait, if the answer has one of 1 to 3600 s", arguments: [
        ("429 30", 30), ("503 1", 1), ("503 3600", 3600), ("429", nil), ("429 ", nil),
        ("429 0", nil), ("429 -1", nil), ("429 3601", nil), ("429 99999999999999999999", nil),
        ("429 Wed, 21 Oct 2026 07:28:00 GMT", nil), ("429 30 30", nil), ("429 30x", nil),
        ("429 %header{retry-after}", nil),
    ] as [(String, Int64?)])
    func wait(line: String, seconds: Int64?) {
        for body in ["{\"code\":155,\"error\":\"too many\"}", "{}", "<html>"] {
            let failure = #expect(throws: AuthorityPage.Failure.self) {
                try AuthorityPage.read(Array("\(body)\n\(line)".utf8))
            }
            #expect(failure?.mayPass == true)
            #expect(failure?.retryAfter == seconds.map(Duration.seconds))
        }
    }

    @Test("has its refusals and failures shown in words", arguments: [
        ("{\"code\":155,\"error\":\"too many\\u001b[2J codes\"}\n429", "too many[2J codes"),
        ("{\"x\":1}\n500", "it answered with HTTP status 500"),
        ("<html>\n302", "it answered with HTTP status 302, not as an authority"),
        ("[1]\n200", "it answered with HTTP status 200, not as an authority"),
        ("curl: (6) Could not resolve host: x\n\n000", "curl: (6) Could not resolve host: x"),
        ("curl: (60) SSL certificate problem: unable to get local issuer certificate\n\n000",
         "curl: (60) SSL certificate problem: unable to get local issuer certificate; name its CA "
             + "by ca_file under [claim] in agent.toml"),
        ("curl: (60) SSL certificate problem: certificate is not yet valid\n\n000",
         "curl: (60) SSL certificate problem: certificate is not yet valid"
             + "; set this board's clock"),
        ("\n000", "curl got no answer"), ("", "curl gave no answer"),
        ("{\"a\":1}", "curl gave no answer"), ("{}\n200x", "curl gave no answer"),
        ("{}\n 200", "curl gave no answer"), ("{}\nx 1", "curl gave no answer"),
    ])
    func failed(output: String, words: String) {
        do throws(AuthorityPage.Failure) {
            _ = try AuthorityPage.read(Array(output.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.sentence == words)
        }
    }
}
