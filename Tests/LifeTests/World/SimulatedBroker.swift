import AgentCore
import Sessions
import Wire

/// What an MQTT broker with dynamic security does, as far as boards and authority see it.
///
/// Boards come with Clean Start and without a session: what is on its way to one that goes is
/// lost, but for what is retained. The authority's session stays while it is away.
struct SimulatedBroker: Sendable {
    struct Client: Sendable {
        var password: SecretBytes
        var mayPublishData: Bool
    }

    struct Link: Sendable {
        let id: Int
        let machine: Int
        let will: Publication?
        var isSubscribed = false
    }

    struct Publication: Sendable {
        let topic: String
        let payload: [UInt8]
    }

    struct Retained: Sendable {
        let payload: [UInt8]
        /// On the world's clock.
        let until: Duration?
    }

    var clients: [InstallationID: Client] = [:]
    var links: [InstallationID: Link] = [:]
    private var retained: [String: Retained] = [:]
    /// Everything that it saw in the clear, CONNECT and its control messages aside.
    private(set) var seen: [Publication] = []

    /// Whether a login is let in.
    func admits(_ board: InstallationID, _ login: UplinkLogin) -> Bool {
        login.username == board.description && login.clientID == "postern-\(board)"
            && clients[board]?.password.matches(login.password) ?? false
    }

    mutating func see(_ publication: Publication) { seen.append(publication) }

    mutating func retain(_ publication: Publication, until: Duration? = nil) {
        retained[publication.topic] = publication.payload.isEmpty
            ? nil : Retained(payload: publication.payload, until: until)
    }

    /// Its disk is gone: nobody may come in, and nothing is retained.
    mutating func forget() {
        clients.removeAll()
        retained.removeAll()
    }

    /// What is retained on a topic; a message whose expiry has passed is not.
    func retained(on topic: String, at now: Duration) -> [UInt8]? {
        guard let found = retained[topic], found.until.map({ now < $0 }) ?? true else {
            return nil
        }
        return found.payload
    }

    /// The board's link, if it is the one with this id.
    func link(_ id: Int, of board: InstallationID) -> Link? {
        links[board].flatMap { $0.id == id ? $0 : nil }
    }
}
