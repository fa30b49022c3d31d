import AuthorityCore
import Testing

@testable import AuthorityHTTP

@Suite("Turns at passwords")
struct PasswordTurnTests {
    private let home = CountedOrigin("198.51.100.7")

    private func entered(
        _ tries: Int, _ origin: String, _ turns: inout PasswordHashLimit
    ) -> [PasswordHashLimit.Turn] {
        (0..<tries).compactMap { _ in turns.enter(CountedOrigin(origin)) }
    }

    @Test("are four for one address, and ten for all from where nobody logged in before")
    func strangers() throws {
        var turns = PasswordHashLimit()
        let loud = entered(95, "192.0.2.1", &turns)
        #expect(loud.count == 4)
        #expect(entered(5, "203.0.113.1", &turns).count == 4)
        #expect(entered(5, "233.252.0.1", &turns).count == 2)
        #expect(entered(1, "198.51.100.1", &turns).isEmpty)
        turns.leave(try #require(loud.first))
        #expect(entered(2, "198.51.100.1", &turns).count == 1)
    }

    @Test("are six for one network, whatever number of its addresses asks", arguments: [
        (0..<24).map { "192.0.2.\($0)" },
        (0..<24).map { "2001:db8:1:\(String($0, radix: 16))::1" },
        (0..<24).map { "2001:db8:1:\(String($0, radix: 16))00::1" },
    ])
    func network(addresses: [String]) {
        var turns = PasswordHashLimit()
        let taken = addresses.map { entered(4, $0, &turns).count }
        #expect(taken.reduce(0, +) == 6)
        // Others, of whom nobody knows anything, have theirs.
        #expect(entered(4, "203.0.113.1", &turns).count == 4)
    }

    @Test("are left for an address that logged in before, while 24 others ask for all",
        arguments: [
            (0..<24).map { "198.51.100.\($0 + 100)" }, (0..<24).map { "192.0.\($0).1" },
            (0..<24).map { "2001:db8:\($0)::1" },
        ])
    func known(addresses: [String]) throws {
        var turns = PasswordHashLimit()
        turns.know(home)
        for _ in 0..<4 {
            for address in addresses { _ = entered(4, address, &turns) }
        }
        let own = entered(5, home.description, &turns)
        #expect(own.count == 4)
        for turn in own { turns.leave(turn) }
        #expect(entered(1, home.description, &turns).count == 1)
    }

    @Test("of known addresses are few for one network, too, and never more than sixteen")
    func knownFlood() {
        var turns = PasswordHashLimit()
        for number in 0..<24 {
            turns.know(CountedOrigin("192.0.2.\(number)"))
            turns.know(CountedOrigin("203.0.\(number).1"))
        }
        let near = (0..<24).map { entered(4, "192.0.2.\($0)", &turns).count }
        #expect(near.reduce(0, +) == 6)
        let far = (0..<24).map { entered(4, "203.0.\($0).1", &turns).count }
        #expect(far.reduce(0, +) == 10)
        #expect(entered(1, "198.51.100.1", &turns).isEmpty)
    }

    @Test("are kept for those that logged in last")
    func memory() {
        var turns = PasswordHashLimit()
        turns.know(home)
        turns.know(CountedOrigin("192.0.2.9"))
        turns.know(home)
        for number in 0..<PasswordHashLimit.memory - 1 {
            turns.know(CountedOrigin("10.0.\(number / 256).\(number % 256)"))
        }
        for number in 0..<24 { _ = entered(4, "203.0.\(number).1", &turns) }
        #expect(entered(1, home.description, &turns).count == 1)
        #expect(entered(1, "192.0.2.9", &turns).isEmpty)
    }

    @Test("counts an IPv6 address by its first 64 bits", arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8::1", "2001:db8:0:0::/64"),
        ("2001:DB8:0:0:ffff::", "2001:db8:0:0::/64"), ("::1", "0:0:0:0::/64"),
        ("fe80::1%eth0", "fe80:0:0:0::/64"), ("unknown", "unknown"),
        ("1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9"), ("x::1", "x::1"),
    ])
    func origin(text: String, counted: String) {
        #expect(CountedOrigin(text).description == counted)
    }

    @Test("counts the wider networks of an address, too", arguments: [
        ("192.0.2.77", ["192.0.2.0/24"]), ("::ffff:192.0.2.1", ["192.0.2.0/24"]),
        ("2001:db8:1:23ff::9", ["2001:db8:1:2300::/56", "2001:db8:1::/48"]),
        ("::1", ["0:0:0:0::/56", "0:0:0::/48"]), ("unknown", []), ("1.2.3.256", []),
        ("1.2.3", []),
    ] as [(String, [String])])
    func networks(text: String, counted: [String]) {
        #expect(CountedOrigin(text).networks.map(\.description) == counted)
    }
}
