import Synchronization

/// What may go wrong at one step.
enum Fault: String, Hashable, Sendable {
    // Of a message.
    case lose
    case duplicate
    /// Once more, long after.
    case duplicateLate
    /// Behind the messages of the next seconds.
    case delay
    /// Behind those of the next minute.
    case delayLong
    /// The connection ends, and the message with it.
    case drop
    // Of whoever takes the step.
    case cutBefore
    case cutAfter
    /// The broker could not be told; whoever tried lives on.
    case fail
}

/// One place in a run where something may go wrong.
struct Step: Sendable {
    enum Kind: String, Sendable {
        /// One effect of the agent: the board's power may go before and after it.
        case effect
        /// A message between two of board, broker and authority.
        case handOver
        /// CONNECT, SUBSCRIBE and their answers: a connection has each of them once.
        case handshake
        /// A transaction of the authority, which may die before and after it.
        case commit
        /// The authority publishes a reply.
        case reply
        /// The authority tells the broker something.
        case job
        /// A person's order waits until the broker is told.
        case settle

        var faults: [Fault] {
            switch self {
            case .effect, .commit: [.cutBefore, .cutAfter]
            case .handOver: [.lose, .duplicate, .duplicateLate, .delay, .delayLong, .drop]
            case .handshake: [.lose, .delay, .drop]
            case .reply, .job: [.cutBefore, .cutAfter, .fail]
            case .settle: [.fail]
            }
        }
    }

    let number: Int
    let kind: Kind
    let label: String
}

/// Which step has which fault.
enum Plan: Sendable {
    case none
    case at([Int: Fault])
    /// Each step has a fault with this probability, while `left` lasts.
    case random(SplitMix64, probability: Double, left: Int)
}

/// Says at each step of a run what goes wrong there, and keeps what must never be.
final class Fates: Sendable {
    private struct State: Sendable {
        var plan: Plan
        var count = 0
        var steps: [Step] = []
        var struck: [String] = []
        var violations: [String] = []
        var trace: [String]?
        let records: Bool
        var isCalm = false
    }

    private let state: Mutex<State>

    /// With `records` each step is kept, with `isTracing` the whole story in words.
    init(_ plan: Plan, records: Bool = false, isTracing: Bool = false) {
        state = Mutex(State(plan: plan, trace: isTracing ? [] : nil, records: records))
    }

    var steps: [Step] { state.withLock { $0.steps } }
    var stepCount: Int { state.withLock { $0.count } }
    var violations: [String] { state.withLock { $0.violations } }
    var hasFailed: Bool { state.withLock { !$0.violations.isEmpty } }
    /// The faults that came to pass.
    var struck: [String] { state.withLock { $0.struck } }
    var trace: [String] { state.withLock { $0.trace ?? [] } }

    var isCalm: Bool { state.withLock { $0.isCalm } }

    /// Nothing goes wrong, and no step is counted, while calm.
    func calm(_ isCalm: Bool) { state.withLock { $0.isCalm = isCalm } }

    func violate(_ text: String) { state.withLock { $0.violations.append(text) } }

    func note(_ text: @autoclosure () -> String) {
        guard state.withLock({ $0.trace != nil }) else { return }
        let text = text()
        state.withLock { $0.trace?.append(text) }
    }

    func next(_ kind: Step.Kind, _ label: @autoclosure () -> String) -> Fault? {
        let isTold = state.withLock { $0.records || $0.trace != nil }
        let text = isTold ? label() : ""
        return state.withLock { state in
            if state.isCalm {
                state.trace?.append("      \(kind.rawValue) \(text)")
                return nil
            }
            state.count += 1
            if state.records {
                state.steps.append(Step(number: state.count, kind: kind, label: text))
            }
            let fault = Self.fault(&state, kind)
            state.trace?.append(
                "\(state.count): \(kind.rawValue) \(text)" + (fault.map { " ⚡ \($0)" } ?? ""))
            if let fault { state.struck.append("\(state.count) \(kind.rawValue) \(fault)") }
            return fault
        }
    }

    private static func fault(_ state: inout State, _ kind: Step.Kind) -> Fault? {
        switch state.plan {
        case .none:
            return nil
        case .at(let faults):
            return faults[state.count]
        case .random(var dice, let probability, let left):
            guard left > 0 else { return nil }
            let fault = dice.isHit(probability) ? dice.pick(kind.faults) : nil
            state.plan = .random(
                dice, probability: probability, left: fault == nil ? left : left - 1)
            return fault
        }
    }
}
