import AuthorityCore
import AuthorityHTTP
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

private enum Asked {
    static let secret = "0123456789abcdef-secret"
    static let iid = StubFrontend.iid
    static let own = "postern/v1/\(iid)"
    static let rabbit = "/postern/v1/broker/rabbitmq/\(secret)"
    static let goAuth = "/postern/v1/broker/mosquitto/\(secret)"
    static let bearer = ["Authorization": "Bearer \(secret)"]
    static let session = "mqtt-subscription-postern-\(iid)qos1"
    static let stranger = "mqtt-subscription-postern-otherqos1"
}

/// The requests are in the form that each broker's documentation shows, or that it was seen to
/// send (RabbitMQ 3.10.8).
@Suite("Routes for brokers that ask")
struct BrokerRouteTests {
    private func with(
        door: StubDoor = StubDoor(), _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        let broker = AskingBroker(door: door, secret: SecretBytes(Array(Asked.secret.utf8)))
        try await RunningConsole.with(askingBroker: broker, body)
    }

    /// Source: EMQX documentation, Use HTTP Service (authentication), the body's default.
    @Test("let in at EMQX who shows the right password and client id", arguments: [
        ("postern-\(Asked.iid)", Asked.iid, "right", true),
        ("postern-\(Asked.iid)", Asked.iid, "wrong", false),
        ("postern-\(Asked.iid)", Asked.iid, "", false),
        ("other", Asked.iid, "right", false),
        ("", Asked.iid, "right", false),
        ("postern-\(Asked.iid)", "nobody", "right", false),
    ])
    func emqxLogin(client: String, user: String, password: String, isAllowed: Bool) async throws {
        try await with { console in
            let reply = try await console.send(
                .POST, "/postern/v1/broker/emqx/authn",
                #"{"clientid":"\#(client)","username":"\#(user)","password":"\#(password)"}"#,
                application: nil, token: nil,
                headers: Asked.bearer.merging(["Content-Type": "application/json"]) { $1 })
            #expect(reply.status == 200)
            let result = isAllowed ? "allow" : "deny"
            #expect(reply.text == #"{"is_superuser":false,"result":"\#(result)"}"#)
        }
    }

    /// Source: EMQX documentation, Use HTTP Service (authorization): `${topic}` is the topic or
    /// filter, `${action}` publish or subscribe.
    @Test("answer EMQX what a client may do", arguments: [
        ("\(Asked.own)/outbox", "publish", "postern-\(Asked.iid)", true),
        ("\(Asked.own)/data/Reading/create", "publish", "postern-\(Asked.iid)", true),
        ("\(Asked.own)/inbox", "subscribe", "postern-\(Asked.iid)", true),
        ("\(Asked.own)/inbox", "publish", "postern-\(Asked.iid)", false),
        ("\(Asked.own)/outbox", "subscribe", "postern-\(Asked.iid)", false),
        ("\(Asked.own)/#", "subscribe", "postern-\(Asked.iid)", false),
        ("\(Asked.own)/outbox", "publish", "other", false),
        ("\(Asked.own)/outbox", "all", "postern-\(Asked.iid)", false),
        ("\(Asked.own)/+", "publish", "postern-\(Asked.iid)", false),
    ])
    func emqxAct(topic: String, action: String, client: String, isAllowed: Bool) async throws {
        try await with { console in
            let reply = try await console.send(
                .POST, "/postern/v1/broker/emqx/authz",
                """
                {"username":"\(Asked.iid)","topic":"\(topic)","action":"\(action)",\
                "clientid":"\(client)","peerhost":"127.0.0.1","qos":"1","retain":"false"}
                """, application: nil, token: nil, headers: Asked.bearer)
            #expect(reply.status == 200)
            #expect(reply.json?.members["result"]?.asString == (isAllowed ? "allow" : "deny"))
        }
    }

    /// Source: mosquitto-go-auth, README (HTTP) and `backends/http.go`: JSON, or a form.
    @Test("answer mosquitto-go-auth by the status", arguments: [
        ("user", #"{"username":"IID","password":"right","clientid":"postern-IID"}"#, true),
        ("user", "clientid=postern-IID&password=right&username=IID", true),
        ("user", #"{"username":"IID","password":"wrong","clientid":"postern-IID"}"#, false),
        ("user", #"{"username":"IID","password":"right","clientid":"other"}"#, false),
        ("superuser", #"{"username":"IID"}"#, false),
        ("acl", #"{"acc":2,"clientid":"postern-IID","topic":"OWN/outbox","username":"IID"}"#, true),
        ("acl", #"{"acc":4,"clientid":"postern-IID","topic":"OWN/inbox","username":"IID"}"#, true),
        ("acl", #"{"acc":1,"clientid":"postern-IID","topic":"OWN/inbox","username":"IID"}"#, true),
        ("acl", "acc=1&clientid=postern-IID&topic=OWN%2Finbox&username=IID", true),
        ("acl", #"{"acc":3,"clientid":"postern-IID","topic":"OWN/inbox","username":"IID"}"#, false),
        ("acl", #"{"acc":2,"clientid":"postern-IID","topic":"OWN/inbox","username":"IID"}"#, false),
        ("acl", ##"{"acc":4,"clientid":"postern-IID","topic":"#","username":"IID"}"##, false),
        ("acl", #"{"acc":9,"clientid":"postern-IID","topic":"OWN/inbox","username":"IID"}"#, false),
    ])
    func goAuth(question: String, body: String, isAllowed: Bool) async throws {
        try await with { console in
            let text = body.replacing("IID", with: Asked.iid).replacing("OWN", with: Asked.own)
            let reply = try await console.send(
                .POST, "\(Asked.goAuth)/\(question)", text, application: nil, token: nil)
            #expect(reply.status == (isAllowed ? 200 : 403), "\(text)")
            #expect(reply.json?.members["ok"] == .bool(isAllowed))
        }
    }

    /// As RabbitMQ 3.10.8 was seen to ask: a form in the body, or the query of a GET.
    @Test("answer RabbitMQ in its own words", arguments: [
        ("user", "username=IID&password=right&vhost=/&client_id=postern-IID", true),
        ("user", "username=IID&password=right&vhost=%2F&client_id=postern-IID", true),
        ("user", "username=IID&password=wrong&vhost=/&client_id=postern-IID", false),
        ("user", "username=IID&password=right&vhost=/&client_id=other", false),
        ("user", "username=IID&password=right&vhost=other&client_id=postern-IID", false),
        // As AMQP asks.
        ("user", "username=IID&password=right", false),
        ("vhost", "username=IID&vhost=/&ip=127.0.0.1&tags=&client_id=postern-IID", true),
        ("vhost", "username=IID&vhost=other&ip=127.0.0.1&tags=&client_id=postern-IID", false),
        ("vhost", "username=nobody&vhost=/&ip=127.0.0.1&tags=&client_id=postern-IID", false),
        ("vhost", "username=IID&vhost=/&ip=127.0.0.1&tags=", false),
        ("resource", "RES&resource=queue&name=\(Asked.session)&permission=configure", true),
        ("resource", "RES&resource=queue&name=\(Asked.session)&permission=read", true),
        ("resource", "RES&resource=queue&name=\(Asked.stranger)&permission=configure", false),
        ("resource", "RES&resource=queue&name=anything&permission=configure", false),
        ("resource", "RES&resource=exchange&name=amq.topic&permission=write", true),
        ("resource", "RES&resource=exchange&name=amq.topic&permission=read", true),
        ("resource", "RES&resource=exchange&name=amq.topic&permission=configure", false),
        ("resource", "RES&resource=exchange&name=amq.default&permission=write", false),
        ("resource", "RES&resource=exchange&name=&permission=write", false),
        ("topic", "TOP&permission=write&routing_key=KEY.outbox", true),
        ("topic", "TOP&permission=write&routing_key=KEY.data.Reading.create", true),
        ("topic", "TOP&permission=read&routing_key=KEY.inbox", true),
        ("topic", "TOP&permission=write&routing_key=KEY.inbox", false),
        ("topic", "TOP&permission=read&routing_key=KEY.*", false),
        ("topic", "TOP&permission=read&routing_key=postern.v1.*.inbox", false),
        ("topic", "TOP&permission=read&routing_key=%23", false),
        ("topic", "TOP&permission=write&routing_key=KEY.*", false),
        ("topic", "TOP&permission=write", false),
        ("topic", "TOP&permission=write&routing_key=KEY.outbox&routing_key=KEY.outbox", false),
    ])
    func rabbitMQ(question: String, form: String, isAllowed: Bool) async throws {
        let text = form.replacing("RES", with: "username=IID&vhost=/&client_id=postern-IID&tags=")
            .replacing("TOP", with: "username=IID&vhost=/&resource=topic&name=amq.topic"
                + "&tags=&variable_map.client_id=postern-IID&variable_map.vhost=/")
            .replacing("KEY", with: "postern.v1.\(Asked.iid)").replacing("IID", with: Asked.iid)
        try await with { console in
            let path = "\(Asked.rabbit)/\(question)"
            for reply in [
                try await console.send(.POST, path, text, application: nil, token: nil),
                try await console.send(.GET, "\(path)?\(text)", application: nil, token: nil),
            ] {
                #expect(reply.status == 200)
                #expect(reply.text == (isAllowed ? "allow" : "deny"), "\(text)")
            }
        }
    }

    @Test("answer nobody who does not show the secret, and count who tries", arguments: [
        (HTTPMethod.POST, "/postern/v1/broker/emqx/authn", [:] as [String: String]),
        (.POST, "/postern/v1/broker/emqx/authz", ["Authorization": "Bearer wrong"]),
        (.POST, "/postern/v1/broker/emqx/authz", ["Authorization": "Basic \(Asked.secret)"]),
        (.GET, "/postern/v1/broker/rabbitmq/wrong/user", [:]),
        (.POST, "/postern/v1/broker/rabbitmq/\(Asked.secret)x/user", [:]),
        (.POST, "/postern/v1/broker/rabbitmq/wrong/user", Asked.bearer),
        (.POST, "/postern/v1/broker/mosquitto/wrong/acl", [:]),
    ])
    func stranger(method: HTTPMethod, path: String, headers: [String: String]) async throws {
        let door = StubDoor()
        try await with(door: door) { console in
            let reply = try await console.send(
                method, path, method == .GET ? nil : "username=a", headers: headers)
            #expect(reply.status == 403)
            #expect(reply.text == #"{"error":"unauthorized"}"#)
            #expect(door.strangers == ["127.0.0.1"] && door.asked == [])
        }
    }

    @Test("are shut where no broker asks")
    func nobody() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "\(Asked.rabbit)/user", "username=\(Asked.iid)", token: nil)
            #expect(reply.status == 403)
        }
    }

    @Test("read no question of more than 8 KiB, and nothing that is no question", arguments: [
        (String(repeating: "a", count: 9000), 413, ""),
        (String(repeating: "a=b&", count: 40), 200, "deny"),
        ("{\"username\":", 200, "deny"), ("[]", 200, "deny"), ("%", 200, "deny"),
        ("username=%FF", 200, "deny"),
    ])
    func bounds(body: String, status: Int, text: String) async throws {
        try await with { console in
            let reply = try await console.send(.POST, "\(Asked.rabbit)/user", body, token: nil)
            #expect(reply.status == status)
            if status == 200 { #expect(reply.text == text) }
        }
    }
}

/// A door that knows one board, whose password is `right`.
final class StubDoor: BrokerAccessCheck {
    private let notes = Mutex((strangers: [String](), asked: [String]()))

    var strangers: [String] { notes.withLock { $0.strangers } }
    var asked: [String] { notes.withLock { $0.asked } }

    func account(named username: String) async throws(AuthorityError) -> BrokerAccount? {
        notes.withLock { $0.asked.append(username) }
        guard username == StubFrontend.iid, let board = InstallationID(username) else {
            return nil
        }
        let login = DesiredBoard.Login(
            password: SecretBytes(Array("right".utf8)), extraTopics: [])
        return BrokerAccount(board: board, login: login, root: .standard)
    }

    func countStranger(from origin: String) async throws(AuthorityError) {
        notes.withLock { $0.strangers.append(origin) }
    }
}
