import Testing

/// Which module may import which: the arrows of the house, by layer. `Swift` is open to all.
private let arrows: [String: [String: Set<String>]] = [
    "Domain": [
        "Sessions": [],
        "Gate": ["Sessions"],
        "Wire": ["Gate", "Sessions"],
        "WebAuthn": ["Sessions", "Wire"],
    ],
    "Agent": [
        "AgentCore": ["Gate", "Sessions", "Wire"],
        "AgentStore": ["AgentCore", "Cryptography", "Gate", "LinuxIO", "Sessions", "TPM", "Wire"],
        "AgentCommands": [
            "AgentCore", "AgentService", "AgentStore", "ArgumentParser", "ConfigurationFiles",
            "Cryptography", "Doctor", "Gate", "LinuxIO", "MQTT", "QRCode", "Sessions", "Wire",
        ],
        "AgentCryptography": ["AgentCore", "Cryptography", "Sessions", "Wire"],
        "AgentService": [
            "AgentCore", "AgentCryptography", "AgentStore", "ConfigurationFiles", "Cryptography",
            "Gate", "LinuxIO", "LogOutput", "Logging", "MQTT", "MetricsServer", "Sessions",
            "Synchronization", "TPM", "Wire",
        ],
        "postern-agent": ["AgentCommands"],
    ],
    "Authority": [
        "AuthorityCore": ["Gate", "Sessions", "WebAuthn", "Wire"],
        "AuthorityStore": [
            "AuthorityCore", "Foundation", "FoundationEssentials", "GRDB", "Gate",
            "PostgreSQLClient", "Sessions", "Synchronization", "Wire",
        ],
        "AuthorityData": [
            "AuthorityCore", "AuthorityStore", "Foundation", "GRDB", "Gate", "PostgreSQLClient",
            "Sessions", "Synchronization", "Wire",
        ],
        "PostgreSQLClient": ["CPostgreSQL", "Dispatch", "LinuxIO", "Sessions", "Synchronization"],
        "AuthorityHTTP": [
            "AuthorityCore", "COpenSSL", "Cryptography", "Foundation", "FoundationEssentials",
            "Gate", "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "MetricsServer",
            "NIOCore", "NIOHTTP1", "NIOHTTPTypes", "ServiceLifecycle", "Sessions",
            "Synchronization", "WebAuthn", "Wire",
        ],
        "AuthorityBroker": [
            "AuthorityCore", "AuthorityStore", "ConfigurationFiles", "Cryptography", "Foundation",
            "LinuxIO", "Logging", "MQTT", "Sessions", "Subprocess", "Synchronization",
            "SystemPackage", "Wire",
        ],
        "AuthorityService": [
            "AuthorityBroker", "AuthorityCore", "AuthorityData", "AuthorityHTTP",
            "AuthorityStore", "ConfigurationFiles", "Cryptography", "Dispatch", "Foundation",
            "Gate", "HTTPClient",
            "LinuxIO", "LogOutput", "Logging", "MQTT", "MetricsServer", "NIOCore", "NIOPosix",
            "PostgreSQLClient", "Sessions", "Synchronization", "WebAuthn", "Wire",
        ],
        "AuthorityCommands": [
            "ArgumentParser", "AuthorityBroker", "AuthorityCore", "AuthorityHTTP",
            "AuthorityService", "AuthorityStore", "ConfigurationFiles", "Cryptography", "Doctor",
            "Foundation", "LinuxIO", "LogOutput", "Logging", "MQTT", "PostgreSQLClient",
            "Sessions", "Wire",
        ],
        "postern-authority": ["AuthorityCommands"],
    ],
    "Admin": [
        "AdminCommands": [
            "AgentCore", "ArgumentParser", "ConfigurationFiles", "Cryptography", "Dispatch",
            "Doctor", "FleetSimulator", "Foundation", "Gate", "HTTPClient", "LinuxIO", "MQTT",
            "MetricsServer", "Sessions", "Synchronization", "Wire",
        ],
        "postern": ["AdminCommands"],
    ],
    "Simulation": [
        "FleetSimulator": [
            "AgentCore", "AgentCryptography", "ConfigurationFiles", "Cryptography", "Gate",
            "LinuxIO", "MQTT", "MetricsServer", "Sessions", "Synchronization", "Wire",
        ],
    ],
    "Libraries": [
        "PosternApp": ["FoundationEssentials", "Gate", "LinuxIO", "MQTT", "Sessions", "Wire"],
        "PosternSession": [
            "Crypto", "CryptoKit", "Foundation", "FoundationNetworking", "Security",
            "Synchronization",
        ],
    ],
    "Adapters": [
        "LinuxIO": ["CLinux", "Glibc", "Synchronization"],
        "Cryptography": ["COpenSSL", "Sessions"],
        "MQTT": [
            "CMosquitto", "COpenSSL", "CSocketBuffer", "Dispatch", "LinuxIO", "Sessions",
            "Synchronization", "Wire",
        ],
        "HTTPClient": ["CCurl", "LinuxIO", "Sessions", "Synchronization"],
        "QRCode": ["CQREncode"],
        "MetricsServer": ["LinuxIO"],
        "LogOutput": ["LinuxIO", "Logging", "Sessions", "Synchronization", "Wire"],
        "TPM": ["CTSS2", "Sessions"],
        "ConfigurationFiles": ["Gate", "Sessions", "Wire"],
        "Doctor": ["ArgumentParser", "Gate", "LinuxIO", "MQTT", "Sessions", "Wire"],
    ],
    "C": [
        "CSocketBuffer": [],
        "CTSS2": [],
        "CWipedMemory": [],
        "CLinux": [],
        "CMosquitto": [],
        "COpenSSL": [],
        "CPostgreSQL": [],
        "CQREncode": [],
        "CCurl": [],
    ],
]

private let imports = arrows.values.reduce(into: [:]) { all, layer in
    all.merge(layer) { one, _ in one }
}

@Suite("The house")
struct ArrowTests {
    @Test("has no layer and no module that the table does not name")
    func modules() {
        #expect(Repository.modules.mapValues { Set($0) } == arrows.mapValues { Set($0.keys) })
    }

    @Test("imports only where its arrows point", arguments: Repository.moduleFolders)
    func arrow(folder: String) {
        let allowed = imports[folder.split(separator: "/").last.map(String.init) ?? ""] ?? []
        for path in Repository.files(below: folder, endingWith: ".swift") {
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
            next.formUnion(imports[module] ?? [])
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
            // Sessions and records of boards have a store each.
            let modules = library == "GRDB" ? 2 : 1
            #expect(imports.count { $0.value.contains(library) } == modules, "\(library)")
        }
    }
}
