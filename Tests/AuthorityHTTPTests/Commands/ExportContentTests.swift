import AuthorityCore
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The content of an export")
struct ExportContentTests {
    private func export(
        _ options: String, of writes: StoredWrites?, failing: AuthorityError? = nil,
        _ check: @Sendable (String) -> Void
    ) async throws {
        try await Person.loggedIn(data: writes?.store) { person in
            await person.console.frontend.fail(with: failing)
            check(await person.types("export --board \(StubFrontend.iid) \(options)"))
        }
        try await writes?.close()
    }

    private func stored() async throws -> StoredWrites {
        let writes = try StoredWrites()
        try await writes.write(1, #"{"celsius":21.5,"room":"a \"b\", c"}"#)
        try await writes.write(2, "=cmd()", "Door/update/front", wait: .seconds(90))
        try await writes.write(3, #"{"secret":1}"#, owner: StoredWrites.bob)
        return writes
    }

    @Test("as CSV has a column for each field, and quotes what needs it")
    func csv() async throws {
        let iid = StubFrontend.iid
        try await export("--format csv", of: stored()) { seen in
            #expect(seen.contains("payload\r\n"))
            #expect(seen.split(whereSeparator: \.isNewline).map(String.init) == [
                "time,receivedAt,late,seq,app,class,op,objectId,celsius,room,value,payload",
                "2023-11-14T22:13:21.000Z,2023-11-14T22:13:21.100Z,false,1,thermo,Reading,create,"
                    + "\(iid)-1,21.5,\"a \"\"b\"\", c\",,",
                "2023-11-14T22:13:22.000Z,2023-11-14T22:14:52.000Z,true,2,thermo,Door,update,"
                    + "front,,,'=cmd(),",
                "! ✓ 2 records", "[0]",
            ])
        }
    }

    @Test("as JSON lines has each payload as data, or as text")
    func lines() async throws {
        let iid = StubFrontend.iid
        try await export("--format jsonl", of: stored()) { seen in
            #expect(seen.split(separator: "\n").map(String.init) == [
                #"{"app":"thermo","class":"Reading","data":{"celsius":21.5,"room":"a \"b\", c"},"#
                    + #""iid":"\#(iid)","late":false,"objectId":"\#(iid)-1","op":"create","#
                    + #""receivedAt":1700000001100,"seq":1,"ts":1700000001000}"#,
                #"{"app":"thermo","class":"Door","iid":"\#(iid)","late":true,"#
                    + #""objectId":"front","op":"update","payload":"=cmd()","#
                    + #""receivedAt":1700000092000,"seq":2,"ts":1700000002000}"#,
                "! ✓ 2 records", "[0]",
            ])
        }
    }

    @Test("holds one class and one span of time")
    func chosen() async throws {
        // The command's clock is at 120 s.
        for (options, found) in [
            ("--class Door", ["front"]), ("--class Lamp", []), ("--since 118s", ["front"]),
            ("--until 118s", ["\(StubFrontend.iid)-1"]), ("--since 100s", []),
        ] {
            let writes = try await stored()
            try await export("--format jsonl \(options)", of: writes) { seen in
                let ids = seen.split(separator: "\n").compactMap { line in
                    (try? JSONObject(parsing: Array(line.utf8)))?.members["objectId"]?.asString
                }
                #expect(ids == found, "\(options): \(seen)")
                #expect(seen.hasSuffix("! ✓ \(found.count) records\n[0]"))
            }
        }
    }

    @Test("reads all pages")
    func pages() async throws {
        let writes = try StoredWrites()
        try await writes.write(1...1002, "7") { _ in "Reading/create" }
        try await export("--format jsonl", of: writes) { seen in
            let lines = seen.split(separator: "\n")
            #expect(lines.count == 1004 && lines.suffix(2) == ["! ✓ 1002 records", "[0]"])
            #expect(lines[1001].contains(#""seq":1002"#))
        }
    }

    @Test("of a stranger's board finds nothing, and of one that was given away the own records")
    func owners() async throws {
        let strange = try StoredWrites()
        try await strange.write(1, #"{"secret":1}"#, owner: StoredWrites.bob)
        try await export("--format jsonl", of: strange, failing: .noObject) { seen in
            #expect(seen == "! postern: authority: Object not found. (101)\n[1]")
        }
        try await export("--format jsonl --class Door", of: stored(), failing: .noObject) { seen in
            #expect(seen.contains("front") && !seen.contains("secret") && seen.hasSuffix("[0]"))
        }
    }

    @Test("says that nothing is kept where [data] keep is \"0\"")
    func nothingKept() async throws {
        try await export("--format csv", of: nil) { seen in
            #expect(seen.contains("keeps no data") && seen.hasSuffix("(119)\n[77]"), "\(seen)")
        }
    }

    @Test("of no class is a usage error", arguments: ["a/b", "9", ""])
    func usage(name: String) async throws {
        try await export("--class=\(name) --format csv", of: nil) { seen in
            #expect(seen.hasSuffix("[2]"), "\(seen)")
        }
    }
}
