import Gate
import Testing
import Wire

@Suite("Written scope")
struct WrittenScopeTests {
    @Test("is taken where every member is one of a scope's")
    func whole() throws {
        let text = """
            {"default":"deny","rules":[{"app":"thermo","class":"Reading","allow":["create"],
             "fields":{"requests":"number","at":{"lat":"number"}},"max_bytes":64}],"topics":["a/+"]}
            """
        let document = try ScopeDocument(written: Array(text.utf8))
        #expect(try Scope(document).rules.count == 1)
    }

    @Test("is refused for a member that a board would pass over, by its place", arguments: [
        (#"{"defalt":"deny"}"#, "no member defalt"), (#"{"rule":[]}"#, "no member rule"),
        (#"{"rules":[{"class":"A","allow":[]},{"class":"A","allow":[],"rate":"1/s"}]}"#,
         "no member rules[1].rate"),
        (#"{"rules":[{"class":"A","allow":[],"feilds":{}}]}"#, "no member rules[0].feilds"),
        (#"{"default":"deny","default":"allow"}"#, "default is there twice"),
        (#"{"rules":[{"class":"A","allow":[],"\u0061llow":["create"]}]}"#,
         "rules[0].allow is there twice"),
        (#"{"rules":[{"class":"A"}]}"#, "allow is missing"), ("[]", "scope is malformed"),
        ("{", "not a JSON object"),
    ])
    func stranger(text: String, says: String) {
        let fault = #expect(throws: ScopeFault.self) {
            try ScopeDocument(written: Array(text.utf8))
        }
        #expect(fault?.description.contains(says) == true, "\(String(describing: fault))")
    }
}
