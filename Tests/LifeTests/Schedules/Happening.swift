import AgentCore
import Sessions
import Wire

/// What stands in the world's queue.
enum Happening: Sendable {
    case parcel(Parcel)
    /// A parcel that was held back or doubled: nothing more befalls it.
    case straggler(Parcel)
    /// The broker misses a link's pings.
    case silence(link: Int, board: InstallationID)
    case closed(machine: Int, link: Int)
    case boot(machine: Int)
    case authorityStarts
    case worker
    case housekeeping
    case act(Act)
}

/// A message between two of board, broker and authority.
enum Parcel: Sendable {
    case connect(machine: Int, link: Int, UplinkLogin)
    case connectAnswer(machine: Int, link: Int, isIn: Bool)
    case subscribe(machine: Int, link: Int)
    case subscribed(machine: Int, link: Int)
    case publish(machine: Int, link: Int, SimulatedBroker.Publication, retain: Bool)
    case inbox(machine: Int, link: Int, payload: [UInt8])
    case heard(ContractTopic, payload: [UInt8])

    var kind: Step.Kind {
        switch self {
        case .connect, .connectAnswer, .subscribe, .subscribed: .handshake
        case .publish, .inbox, .heard: .handOver
        }
    }

    /// The link that it travels on; nil between broker and authority.
    var link: (machine: Int, link: Int)? {
        switch self {
        case .connect(let machine, let link, _), .connectAnswer(let machine, let link, _),
            .subscribe(let machine, let link), .subscribed(let machine, let link),
            .publish(let machine, let link, _, _), .inbox(let machine, let link, _):
            (machine, link)
        case .heard: nil
        }
    }

    var label: String {
        switch self {
        case .connect(let machine, let link, _): "CONNECT \(machine).\(link)"
        case .connectAnswer(let machine, let link, let isIn):
            "CONNACK \(machine).\(link) \(isIn ? "in" : "refused")"
        case .subscribe(let machine, let link): "SUBSCRIBE \(machine).\(link)"
        case .subscribed(let machine, let link): "SUBACK \(machine).\(link)"
        case .publish(let machine, let link, let publication, _):
            "\(machine).\(link) publishes \(publication.topic.suffix(6))"
        case .inbox(let machine, let link, _): "inbox of \(machine).\(link)"
        case .heard(let topic, _): "authority hears \(topic.text(under: .standard).suffix(6))"
        }
    }
}

/// What people and programs around the board do.
enum Act: Sendable {
    case pair(machine: Int, fresh: Bool)
    case claim(machine: Int, person: Int)
    case revoke(machine: Int, person: Int)
    case release(machine: Int, person: Int)
    case signOut(machine: Int)
    case write(machine: Int)
    case powerCut(machine: Int)
    case setWall(machine: Int, SimulatedBoard.Wall)
    case changeScope(machine: Int, person: Int, isNarrow: Bool)
    /// The broker starts anew. Without its disk it knows no retained message and no client.
    case brokerRestart(keepsDisk: Bool)
    /// Another machine starts on a copy of this one's state.
    case steal(machine: Int)
}
