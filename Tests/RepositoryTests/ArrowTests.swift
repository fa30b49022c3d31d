import Testing

/// Which module may lean on which: the arrows of the house. `Swift` is open to all.
private let arrows: [String: Set<String>] = [
    // Domain and cores.
    "Sessions": [],
    "Gate": ["Sessions"],
    "Wire": ["Sessions", "Gate"],
    "AgentCore": ["Sessions", "Gate", "Wire"],
    "AuthorityCore": ["Sessions", "Gate", "Wire"],
    // Adapters that touch C.
    "LinuxIO": ["CLinux", "Glibc", "Synchronization"],
    "Cryptography": ["COpenSSL", "Sessions"],
    "Mosquitto": [
        "CMosquitto", "COpenSSL", "CSocketBuffer", "LinuxIO", "Sessions", "Synchronization",
        "Wire",
    ],
    "HTTPClient": ["CCurl", "LinuxIO", "Sessions", "Synchronization"],
    "QRCode": ["CQREncode"],
    "Figures": ["LinuxIO"],
    "Journal": ["LinuxIO", "Logging", "Sessions", "Synchronization", "Wire"],
    "TrustedPlatform": ["CTSS2", "Sessions"],
    // A store imports its core.
    "AgentStore": [
        "AgentCore", "Cryptography", "Gate", "LinuxIO", "Sessions", "TrustedPlatform", "Wire",
    ],
    // Adapters of packages.
    "Settings": ["Gate", "Sessions", "Wire"],
    "Diagnosis": ["ArgumentParser", "Gate", "LinuxIO", "Mosquitto", "Sessions", "Wire"],
    "BrokerClient": [
        "Dispatch", "LinuxIO", "Mosquitto", "Sessions", "Synchronization", "Wire",
    ],
    "AuthorityStore": [
        "AuthorityCore", "Foundation", "FoundationEssentials", "GRDB", "Gate", "Sessions",
        "Synchronization", "Wire",
    ],
    "PostgreSQLStore": [
        "AuthorityCore", "AuthorityStore", "CPostgreSQL", "Dispatch", "Gate", "LinuxIO",
        "Sessions", "Synchronization", "Wire",
    ],
    "Console": [
        "AuthorityCore", "COpenSSL", "Cryptography", "Foundation", "FoundationEssentials", "Gate",
        "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "NIOCore", "NIOHTTP1",
        "NIOHTTPTypes", "ServiceLifecycle", "Sessions", "Synchronization", "Wire",
    ],
    // What each program is.
    "Board": [
        "AgentCore", "AgentStore", "ArgumentParser", "Cryptography", "Diagnosis", "Figures", "Gate",
        "Journal", "LinuxIO", "Logging", "Mosquitto", "QRCode", "Sessions", "Settings",
        "Synchronization", "TrustedPlatform", "Wire",
    ],
    "AuthorityService": [
        "ArgumentParser", "AuthorityCore", "AuthorityStore", "BrokerClient",
        "Console", "Cryptography", "Diagnosis", "Dispatch", "Figures", "Foundation", "Gate",
        "HTTPClient", "Journal", "LinuxIO", "Logging", "Mosquitto", "NIOCore", "NIOPosix",
        "PostgreSQLStore", "Sessions", "Settings", "Subprocess", "Synchronization", "System",
        "SystemPackage", "Wire",
    ],
    "Commands": [
        "ArgumentParser", "BrokerClient", "Cryptography", "Diagnosis", "Dispatch", "Foundation",
        "Gate", "HTTPClient", "LinuxIO", "Mosquitto", "Sessions",
        "Settings", "Synchronization", "Wire",
    ],
    "postern-agent": ["Board"],
    "postern-authority": ["AuthorityService"],
    "postern": ["Commands"],
    // Our own C, and module maps.
    "CSocketBuffer": [], "CTSS2": [], "CWipedMemory": [],
    "CLinux": [], "CMosquitto": [], "COpenSSL": [], "CPostgreSQL": [],
    "CQREncode": [], "CCurl": [],
]

@Suite("The house")
struct ArrowTests {
    @Test("has no room that the table does not name")
    func rooms() {
        #expect(Set(Repository.modules) == Set(arrows.keys))
    }

    @Test("leans only where its arrows point", arguments: arrows.keys.sorted())
    func imports(module: String) {
        let allowed = arrows[module] ?? []
        for path in Repository.files(below: "Sources/\(module)", endingWith: ".swift") {
            let imports = Repository.code[path]?.imports ?? []
            let wrong = imports.subtracting(allowed).subtracting(["Swift"])
            #expect(wrong.isEmpty, "\(path) imports \(wrong.sorted())")
        }
    }

    @Test("lets neither Foundation nor NIO onto the board")
    func boardSide() {
        var reached: Set<String> = []
        var next: Set = ["postern-agent"]
        while let module = next.popFirst() {
            guard reached.insert(module).inserted else { continue }
            next.formUnion(arrows[module] ?? [])
        }
        #expect(reached.contains("Wire"))
        #expect(reached.filter { $0.hasPrefix("Foundation") || $0.hasPrefix("NIO") }.isEmpty)
    }

    @Test("knows one module per technology")
    func technologies() {
        let libraries = [
            "CCurl", "CMosquitto", "CPostgreSQL", "CSocketBuffer", "CQREncode", "CTSS2",
            "Glibc", "GRDB", "Hummingbird",
        ]
        for library in libraries {
            #expect(arrows.count { $0.value.contains(library) } == 1, "\(library)")
        }
    }
}
