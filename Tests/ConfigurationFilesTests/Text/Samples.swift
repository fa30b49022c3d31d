import ConfigurationFiles

/// The configurations that the design shows.
enum Samples {
    static let agent = """
        # agent.toml
        name = "greenhouse"
        state_dir = "/var/lib/postern"
        run_dir = "/run/postern"
        [bus]                                # the board's own broker
        uri = "mqtt://127.0.0.1:1883"        # or unix:/run/mosquitto/postern.sock
        [uplink]
        uri = "mqtts://broker.example:8883"  # mqtt:// only to a loopback address
        ca_file = "/etc/postern/ca.pem"      # the system's store when absent
        [claim]
        base = "https://authority.example/claim"
        expires = "24h"
        [session]
        offline = "until-expiry"             # or a duration
        [outbox]
        max_bytes = "256 MiB"
        max_age = "14d"
        when_full = "refuse"                 # or "drop-oldest"
        [[route]]                            # other people's topics enter here
        from = "zigbee2mqtt/+"
        app = "zigbee"
        class = "Reading"
        op = "create"
        """

    static let policy = """
        # policy.toml; without this file the built-in rules alone apply
        default = "allow"                    # a class without a rule
        [app.thermo]
        rate = "100/s"
        max_bytes = "64 KiB"
        [[rule]]                             # first match decides
        app = "thermo"                       # absent: any
        class = "Reading"                    # or "*"
        allow = ["create"]                   # of create, update, delete; [] refuses all
        fields = { celsius = "number", unit = "string?" }   # others are refused
        max_bytes = "4 KiB"
        """

    static let authority = """
        # authority.toml
        name = "Home"
        state_dir = "/var/lib/postern-authority"
        [http]
        listen = "127.0.0.1:8080"
        public_url = "https://authority.example"
        app_id = "postern"
        [broker]
        mode = "embedded"                    # a mosquitto of its own; or "external"
        listen = "127.0.0.1:1883"
        access = "dynamic-security"          # who lets boards in; or "none"
        [session]
        preset = "device"                    # or consumer, high-security, long-lived
        """
}

/// A configuration with one fault, and what the error has to say.
struct Fault: Sendable, CustomStringConvertible {
    let text: String
    let file: String
    let line: Int?
    /// Nil: some column, wherever there is a line.
    let column: Int?
    let says: String
    let variables: [String: String]

    /// A fault in the file, on a line.
    init(_ text: String, line: Int?, column: Int? = nil, _ says: String) {
        self.init(
            text: text, file: "test.toml", line: line, column: column, says: says, variables: [:])
    }

    /// Whether an error stands where this fault does.
    func stands(at error: SettingsError?) -> Bool {
        guard let error, error.file == file, error.line == line else { return false }
        return column == nil ? (error.column == nil) == (line == nil) : error.column == column
    }

    /// A fault in a variable.
    init(_ name: String, _ value: String, in text: String, _ says: String) {
        self.init(
            text: text, file: name, line: nil, column: nil, says: says, variables: [name: value])
    }

    private init(
        text: String, file: String, line: Int?, column: Int?, says: String,
        variables: [String: String]
    ) {
        self.text = text
        self.file = file
        self.line = line
        self.column = column
        self.says = says
        self.variables = variables
    }

    var description: String { variables.isEmpty ? text : "\(variables)" }
}
