import ConfigurationFiles
import Gate
import Testing
import Wire

@Suite("A file of routes")
struct RouteFileTests {
    private static let text = #"""
        [[route]]
        from = "zigbee2mqtt/+"
        app = "zigbee"
        class = "Reading"
        op = "create"

        [[route]]
        from = "ha/+/+/\"state\"/#"
        app = "ha"
        class = "{1}"
        op = "update"
        object_id = "{2}"
        to = "{data}/{2}/x{3}"

        [[route]]
        from = "tele/ü"
        app = "t"
        class = "Energy"
        op = "create"
        to = "home/tele"

        """#

    private func read(_ text: String) throws -> [Route] {
        try RouteFile.parse(text, file: "routes.toml", under: .standard)
    }

    @Test("is printed as it is read")
    func inverse() throws {
        let routes = try read(Self.text)
        #expect(RouteFile.text(of: routes) == Self.text)
        #expect(try read(try #require(RouteFile.text(of: routes))) == routes)
        #expect(RouteFile.text(of: []) == nil)
    }

    @Test("has routes alone, and no fault", arguments: [
        "name = \"x\"", "[uplink]\nuri = \"mqtts://b.example\"", "[[route]]\nfrom = \"a\"",
        "[[route]]\nfrom = \"postern/#\"\napp = \"a\"\nclass = \"A\"\nop = \"create\"",
        "[[route]]\nfrom = \"a\"\napp = \"a\"\nclass = \"_User\"\nop = \"create\"", "[[route]",
    ])
    func refused(text: String) {
        #expect(throws: SettingsError.self) { try read(text) }
    }
}
