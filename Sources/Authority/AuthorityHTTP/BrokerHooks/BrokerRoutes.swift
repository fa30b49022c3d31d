import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// The questions of brokers that have no list of clients: RabbitMQ, EMQX, and mosquitto with the
/// go-auth plugin. Each asks in its own form; one `BrokerAccessCheck` answers all.
///
/// Without `broker` every question is refused, as with a wrong secret.
struct BrokerRoutes: Sendable {
    let broker: AskingBroker?

    private typealias Judge = @Sendable (
        BrokerQuestion, AskingBroker
    ) async throws(AuthorityError) -> Bool

    var routes: [HTTPRoute] {
        rabbitMQ + [
            route("/broker/emqx/authn", Self.emqxLogin, answeredBy: Answer.init(emqx:)),
            route("/broker/emqx/authz", Self.emqxAct, answeredBy: Answer.init(emqx:)),
            route("/broker/mosquitto/:secret/user", Self.goLogin, answeredBy: Answer.init(go:)),
            route(
                "/broker/mosquitto/:secret/superuser", Self.goSuperuser,
                answeredBy: Answer.init(go:)),
            route("/broker/mosquitto/:secret/acl", Self.goAct, answeredBy: Answer.init(go:)),
        ]
    }

    /// GET is the plugin's default. POST keeps passwords out of URLs.
    private var rabbitMQ: [HTTPRoute] {
        let questions: [(String, Judge)] = [
            ("user", Self.rabbitLogin), ("vhost", Self.rabbitHost),
            ("resource", Self.rabbitResource), ("topic", Self.rabbitTopic),
        ]
        return questions.flatMap { name, judge in
            [HTTPRequest.Method.get, .post].map { method in
                route(
                    "/broker/rabbitmq/:secret/\(name)", by: method, judge,
                    answeredBy: Answer.init(rabbitMQ:))
            }
        }
    }

    private func route(
        _ path: String, by method: HTTPRequest.Method = .post, _ judge: @escaping Judge,
        answeredBy answer: @escaping @Sendable (Bool) -> Answer
    ) -> HTTPRoute {
        let access = HTTPRoute.Access.shown { [broker] call throws(AuthorityError) in
            guard let broker,
                try await broker.knows(call.brokerSecret, from: call.origin)
            else { return nil }
            call.connection.keepForBroker()
            return { call throws(AuthorityError) in
                guard let question = call.brokerQuestion else { return answer(false) }
                return answer(try await judge(question, broker))
            }
        }
        return HTTPRoute(method, path, bodyLimit: BrokerQuestion.body, access)
    }
}

// EMQX. Source: EMQX documentation, Access Control, Use HTTP Service.
extension BrokerRoutes {
    private static let emqxLogin: Judge = { question, broker throws(AuthorityError) in
        guard let clientID = question.name("clientid"), let password = question.password
        else { return false }
        return try await broker.permits(
            .login(clientID: clientID, password: password), to: question.username)
    }

    private static let emqxAct: Judge = { question, broker throws(AuthorityError) in
        guard let topic = question.text("topic"), let clientID = question.name("clientid")
        else { return false }
        let act: BrokerAction
        switch question.text("action") {
        case "publish": act = .publish(topic: topic)
        case "subscribe": act = .subscribe(filter: topic)
        default: return false
        }
        return try await broker.permits(
            .acts([act], clientID: clientID), to: question.username)
    }
}

// mosquitto-go-auth's http backend. Source: its README, HTTP, and backends/http.go.
extension BrokerRoutes {
    private static let goLogin = emqxLogin

    /// No client is a superuser.
    private static let goSuperuser: Judge = { _, _ in false }

    /// `acc` is 1 to receive, 2 to publish, 3 for both, 4 to subscribe.
    private static let goAct: Judge = { question, broker throws(AuthorityError) in
        guard let topic = question.text("topic"), let clientID = question.name("clientid")
        else { return false }
        let acts: [BrokerAction]
        switch question.text("acc") {
        case "1": acts = [.receive(topic: topic)]
        case "2": acts = [.publish(topic: topic)]
        case "3": acts = [.receive(topic: topic), .publish(topic: topic)]
        case "4": acts = [.subscribe(filter: topic)]
        default: return false
        }
        return try await broker.permits(.acts(acts, clientID: clientID), to: question.username)
    }
}

extension Answer {
    /// Never `ignore`, because EMQX would then ask another source.
    fileprivate init(emqx isAllowed: Bool) {
        self.init([
            "result": .string(isAllowed ? "allow" : "deny"), "is_superuser": .bool(false),
        ])
    }

    /// The plugin reads the status in its mode `status`, and `ok` in its mode `json`.
    fileprivate init(go isAllowed: Bool) {
        self.init(
            isAllowed ? .ok : .forbidden,
            ["ok": .bool(isAllowed), "error": .string(isAllowed ? "" : "denied")])
    }

    /// Sends no tags, so nobody can log in to RabbitMQ's management.
    fileprivate init(rabbitMQ isAllowed: Bool) {
        self.init(text: isAllowed ? "allow" : "deny")
    }
}
