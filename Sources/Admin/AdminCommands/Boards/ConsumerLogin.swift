import LinuxIO
import MQTT
import Sessions
import Wire

/// A broker login that an authority gives to a user, or to a program of the user, with the data for
/// the connection.
struct ConsumerLogin: Sendable {
    let uri: BrokerURI
    let clientID: String
    let username: String
    let password: SecretBytes
    /// CA certificates, PEM.
    let ca: String?
    let filters: [String]

    init(answer: JSONObject) throws(CommandFailure) {
        self = try decoding { () throws(WireError) in try ConsumerLogin(json: answer) }
    }

    /// `filters` is the member with the topic filters.
    init(json: JSONObject, filters: String = "filters") throws(WireError) {
        let address = try json.string("uri")
        do throws(BrokerURI.ParseError) {
            uri = try BrokerURI(address)
        } catch {
            throw .mistyped("uri")
        }
        clientID = try json.string("clientId")
        username = try json.string("username")
        password = try json.parsed("password") { SecretBytes(Array($0.utf8)) }
        ca = try json.optional("ca") { $0.asString }
        self.filters = try json.required(filters) { $0.texts }
    }

    /// The options of the connection. The CA is written to the profile's folder: TLS reads a file.
    func options(
        folder: ProfileFolder, insecure: Bool, showing identity: AuthorityTrust.Identity? = nil
    ) throws(CommandFailure) -> ConnectOptions {
        guard uri.scheme != .mqtt || uri.isLoopback || insecure else {
            throw .usage("plain MQTT would show the broker's password to the network; "
                + "use --insecure if you must")
        }
        var options = ConnectOptions(
            uri: uri, clientID: clientID, username: username, password: password)
        options.tls.certificateFile = identity?.certificateFile
        options.tls.keyFile = identity?.keyFile
        if let ca {
            let file = "\(folder.path)/broker-ca.pem"
            do throws(FileFailure) {
                try PrivateFile.write(file, Array(ca.utf8))
            } catch {
                throw .configuration(error.description)
            }
            options.tls.caFile = file
        }
        return options
    }
}

extension JSONValue {
    /// Nil unless this is an array of texts.
    var texts: [String]? {
        guard let values = asArray else { return nil }
        let texts = values.compactMap(\.asString)
        return texts.count == values.count ? texts : nil
    }
}

extension CommandFailure {
    /// A broker's failure, with its layer.
    init(_ error: MQTTError) {
        let layer = error.layer?.rawValue ?? "MQTT"
        switch error {
        case .nameLookup, .tcp, .tls, .notConnected:
            self = .offline(layer: layer, text: Printable.line("\(error)"))
        default: self = .failed(layer: layer, text: Printable.line("\(error)"))
        }
    }
}
