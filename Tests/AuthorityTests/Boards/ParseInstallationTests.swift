import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Parse's installations", .everyStore)
struct ParseInstallationTests {
    private func draft(
        _ name: InstallationID? = nil, claimed: InstallationID? = nil,
        _ fields: [String: JSONValue] = ["deviceType": "ios"], from origin: String = "x"
    ) -> InstallationDraft {
        InstallationDraft(installation: name, claimed: claimed, fields: fields, origin: origin)
    }

    @Test("are made once by their id, and then changed")
    func upsert() async throws {
        let house = try await House()
        let phone = try BoardDouble().installation
        let first = try await house.authority.saveInstallation(draft(phone), by: nil)
        let second = try await house.authority.saveInstallation(
            draft(claimed: phone, ["badge": 1]), by: nil)
        #expect(first.isNew && !second.isNew)
        #expect(first.saved.objectID == second.saved.objectID)
        #expect(second.saved.fields == ["deviceType": "ios", "badge": 1])
        for (wrong, code) in [
            (draft(), 135), (draft(try BoardDouble().installation, ["badge": 1]), 135),
            (draft(phone, ["deviceType": "android"]), 136),
        ] {
            let refusal = await refusal {
                try await house.authority.saveInstallation(wrong, by: nil)
            }
            #expect(refusal?.code == code)
        }
        let moved = await refusal {
            try await house.authority.updateInstallation(
                first.saved.objectID,
                with: draft(try BoardDouble().installation, claimed: phone), by: nil)
        }
        #expect(moved?.code == 136)
    }

    @Test("of a person are not a device's, but its own")
    func device() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (phone, lamp) = (try BoardDouble().installation, try BoardDouble().installation)
        let id = try await house.authority.saveInstallation(draft(phone), by: ada).saved.objectID
        let made = try await house.authority.makeSession(
            SessionDraft(installation: lamp, custom: [:]), by: ada)
        let device = try await house.authority.caller(made.token)
        await expectRefusal(.notFound) {
            try await house.authority.installation(id, at: phone, by: device)
        }
        await expectRefusal(.notFound) {
            try await house.authority.updateInstallation(
                id, with: draft(claimed: phone, ["deviceToken": "x"]), by: device)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.saveInstallation(
                draft(try BoardDouble().installation), by: device)
        }
        let own = try await house.authority.saveInstallation(draft(lamp), by: device)
        #expect(own.isNew)
        let changed = try await house.authority.updateInstallation(
            own.saved.objectID, with: draft(lamp, ["badge": 1]), by: device)
        #expect(changed.fields["badge"] == 1)
    }

    @Test("are their first user's; until then, of whoever names them")
    func owner() async throws {
        let house = try await House()
        let (ada, bob) = (try await house.login(), try await house.addUser("bob"))
        let phone = try BoardDouble().installation
        let id = try await house.authority.saveInstallation(draft(phone), by: nil).saved.objectID
        let seen = { (claimed: InstallationID?, caller: Caller?) in
            await refusal {
                try await house.authority.installation(id, at: claimed, by: caller)
            } == nil
        }
        let other = try BoardDouble().installation
        for claimed in [nil, other] {
            #expect(await !seen(claimed, nil))
            #expect(await !seen(claimed, ada))
            await expectRefusal(.notFound) {
                try await house.authority.updateInstallation(
                    id, with: draft(claimed: claimed, [:]), by: ada)
            }
        }
        #expect(await seen(phone, nil))
        _ = try await house.authority.updateInstallation(
            id, with: draft(claimed: phone, [:]), by: bob)
        for (caller, isSeen) in [(nil, false), (ada, false), (bob, true), (.master, true)]
            as [(Caller?, Bool)]
        {
            #expect(await seen(phone, caller) == isSeen)
        }
        await expectRefusal(.forbidden) {
            try await house.authority.saveInstallation(draft(phone), by: ada)
        }
    }

    @Test("take Parse's operations on their fields")
    func operations() async throws {
        let house = try await House()
        let phone = try BoardDouble().installation
        func save(_ fields: [String: JSONValue]) async throws -> [String: JSONValue] {
            try await house.authority.saveInstallation(
                draft(phone, fields.merging(["deviceType": "ios"]) { $1 }), by: nil).saved.fields
        }
        func add(_ operation: String, _ values: JSONValue...) -> JSONValue {
            .object(["__op": .string(operation), "objects": .array(values)])
        }
        let increment = JSONValue.object(["__op": "Increment", "amount": 1])
        var fields = try await save(["channels": add("AddUnique", "a", "b"), "badge": increment])
        #expect(fields["channels"] == .array(["a", "b"]) && fields["badge"] == 1)
        fields = try await save(["channels": add("AddUnique", "b", "c"), "badge": increment])
        #expect(fields["channels"] == .array(["a", "b", "c"]) && fields["badge"] == 2)
        fields = try await save(["channels": add("Remove", "a", "z"), "log": add("Add", 1, 1)])
        #expect(fields["channels"] == .array(["b", "c"]) && fields["log"] == .array([1, 1]))
        fields = try await save([
            "badge": .object(["__op": "Delete"]), "never": .object(["__op": "Delete"]),
        ])
        #expect(fields["badge"] == nil)
        for (sent, code) in [
            (["channels": "a"], 111), (["channels": .array([1])], 111),
            (["channels": .array(["1a"])], 112), (["channels": .array(["a b"])], 112),
            (["channels": add("Add", "$SYS/#")], 112), (["badge": "1"], 111),
            (["badge": .number(1.5)], 111), (["deviceType": increment], 136),
            (["channels": increment], 111), (["badge": add("Add", 1)], 111),
            (["log": increment], 111), (["x": .object(["__op": "Increment"])], 111),
            (["x": .object(["__op": "Add", "objects": 1])], 111),
            (["x": .object(["__op": "Batch"])], 119),
            (["x": add("Add", .string(String(repeating: "a", count: 4096)))], 116),
            (["user": .object([:])], 119), (["ACL": .object([:])], 119),
        ] as [([String: JSONValue], Int)] {
            let refusal = await refusal {
                try await house.authority.saveInstallation(draft(phone, sent), by: nil)
            }
            #expect(refusal?.code == code, "\(sent)")
        }
        #expect(try await save(["badge": .integer(.max)])["badge"] == .integer(.max))
        await expectRefusal(.validation) { try await save(["badge": increment]) }
        let many = JSONValue.array(Array(repeating: 1, count: 257))
        await expectRefusal(.validation) {
            try await save(["log": .object(["__op": "AddUnique", "objects": many])])
        }
        #expect(try await save(["channels": .array(["", "a-b_1"])])["channels"]
            == .array(["", "a-b_1"]))
    }

    @Test("are listed for the master key alone")
    func list() async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.authority.saveInstallation(
            draft(try BoardDouble().installation), by: ada)
        for caller in [nil, ada, try await house.device(by: ada).caller] {
            await expectRefusal(.forbidden) {
                try await house.authority.installations(.longest, by: caller)
            }
        }
        #expect(try await house.authority.installations(.longest, by: .master).count == 1)
    }

    @Test("of nobody are few at a time from one address")
    func rate() async throws {
        let house = try await House()
        for _ in 0..<30 {
            _ = try await house.authority.saveInstallation(
                draft(try BoardDouble().installation), by: nil)
        }
        let phone = try BoardDouble().installation
        await expectRefusal(.rateLimit) {
            try await house.authority.saveInstallation(draft(phone), by: nil)
        }
        let ada = try await house.login()
        #expect(try await house.authority.saveInstallation(draft(phone), by: ada).isNew)
        house.clock.advance(.seconds(301))
        #expect(try await house.authority.saveInstallation(
            draft(try BoardDouble().installation), by: nil).isNew)
    }

    @Test("of nobody are counted by an IPv6 network, and go 30 days after they were last saved")
    func nobody() async throws {
        let house = try await House()
        for number in 0..<30 {
            _ = try await house.authority.saveInstallation(
                draft(try BoardDouble().installation, from: "2001:db8::\(number)"), by: nil)
        }
        let phone = try BoardDouble().installation
        await expectRefusal(.rateLimit) {
            try await house.authority.saveInstallation(draft(phone, from: "2001:db8::ff"), by: nil)
        }
        _ = try await house.authority.saveInstallation(draft(phone, from: "192.0.2.1"), by: nil)
        let own = try await house.authority.saveInstallation(
            draft(try BoardDouble().installation), by: house.login())
        house.clock.advance(.seconds(20 * 86_400))
        _ = try await house.authority.saveInstallation(draft(phone), by: nil)
        house.clock.advance(.seconds(10 * 86_400 + 1))
        while try await house.authority.sweep() {}
        let left = try await house.authority.installations(.longest, by: .master)
        #expect(Set(left.map(\.installation)) == [phone, own.saved.installation])
    }

    @Test("open nothing, and are no board")
    func nothing() async throws {
        let house = try await House()
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.authority.saveInstallation(draft(board.installation), by: ada)
        #expect(try await house.authority.boards(by: ada, everyone: true).isEmpty)
        let bob = try await house.addUser("bob")
        #expect(try await house.claim(board, by: bob).state == .sent)
    }
}
