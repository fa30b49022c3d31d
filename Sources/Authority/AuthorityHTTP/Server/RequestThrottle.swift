import AuthorityCore
import Hummingbird
import Sessions
import Synchronization

/// Refuses people's requests under overload, so that none waits for too long.
///
/// GET is refused first, then the other methods. Some requests are never refused: DELETE, logout
/// and `revoke`, because they end sessions and release boards. A GET that needs no credentials (the
/// page, `health`) and a broker's question about a board are never refused either. Logins at
/// providers are refused with the other methods.
final class RequestThrottle: Sendable {
    private let admission = Mutex(Admission())
    private let turns = Mutex(PasswordHashLimit())
    private let bodies = Mutex(BodyRateLimit())
    private let clock: @Sendable () -> Duration

    /// `clock` never goes back. Without one, this machine's clock counts.
    init(clock: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.clock = clock ?? { ContinuousClock.now - start }
    }

    /// How long the caller should wait, if the request must not begin now.
    func refusal(of route: HTTPRoute) -> Duration? {
        guard let first = route.refusedFrom else { return nil }
        let now = clock()
        let level = admission.withLock { $0.level(at: now) }
        return level >= first ? level.retryAfter : nil
    }

    /// The same handler, with its time measured. The body has been read by then, so a slow sender
    /// delays nobody.
    ///
    /// A handler that hashes a password is not measured, because it is slow by itself; it takes a
    /// turn or is refused. A handler that asks a login provider is not measured either, and takes
    /// no turn here.
    func measuring(
        _ handle: @escaping HTTPRoute.Handler, of route: HTTPRoute
    ) -> HTTPRoute.Handler {
        let inTurn = inTurn(handle, of: route)
        return { call async throws(AuthorityError) in
            switch route.work(call) {
            case .hashing: return try await inTurn(call)
            case .asking: return try await handle(call)
            case .ordinary:
                self.begin()
                defer { self.end() }
                return try await handle(call)
            }
        }
    }

    /// The same handler, which takes a turn or is refused if it hashes a password or asks a login
    /// provider. It is not measured: as a part of a batch it is measured with the batch.
    func inTurn(_ handle: @escaping HTTPRoute.Handler, of route: HTTPRoute) -> HTTPRoute.Handler {
        { call async throws(AuthorityError) in
            guard route.work(call) != .ordinary else { return try await handle(call) }
            let origin = CountedOrigin(call.origin)
            guard let turn = self.turn(from: origin) else {
                return .overloaded(retryAfter: PasswordHashLimit.retryAfter)
            }
            defer { self.turns.withLock { $0.leave(turn) } }
            let answer = try await handle(call)
            // A success shows a right password, a session or a sign-up, so this address is known.
            if route.work(call) == .hashing, answer.status.kind == .successful {
                self.turns.withLock { $0.know(origin) }
            }
            return answer
        }
    }

    /// A turn at hashing a password; nil if none is free.
    func turn(from origin: CountedOrigin) -> PasswordHashLimit.Turn? {
        turns.withLock { $0.enter(origin) }
    }

    /// Remembers the addresses of earlier logins, the latest one last.
    func know(_ origins: [String]) {
        turns.withLock { turns in
            for origin in origins { turns.know(CountedOrigin(origin)) }
        }
    }

    /// Whether a body of `count` bytes, which has arrived, may be parsed before the caller is
    /// known.
    func mayRead(_ count: Int, from origin: String) -> Bool {
        let now = clock()
        return bodies.withLock { $0.take(count, from: CountedOrigin(origin), at: now) }
    }

    /// Runs `work` and measures its time. It is for the parsing of a body, which anybody may send.
    func measuring<T>(_ work: () -> T) -> T {
        begin()
        defer { end() }
        return work()
    }

    func begin() {
        let now = clock()
        admission.withLock { $0.began(at: now) }
    }

    func end() {
        let now = clock()
        admission.withLock { $0.ended(at: now) }
    }
}

extension HTTPRoute {
    private static let endings = ["/logout", "/console/logout", "/revoke"]

    /// The load level from which the route is refused; nil: never.
    var refusedFrom: LoadLevel? {
        switch access {
        case .open where method == .post: break
        case .open, .shown: return asksForStrangers ? .severe : nil
        case .application, .session, .sessionOrMaster, .sessionOrNone: break
        }
        if method == .delete || Self.endings.contains(where: path.hasSuffix) { return nil }
        return method == .get ? .heavy : .severe
    }
}

extension Answer {
    /// For a request that was not carried out. Source: RFC 9110 §15.6.4 and §10.2.3.
    static func overloaded(retryAfter: Duration) -> Answer {
        let seconds = retryAfter.components.seconds
        var answer = Answer(.serviceUnavailable, Refusal(
            .rateLimit, "overloaded; wait \(seconds) s, then try again", name: .overloaded))
        answer.headers[.retryAfter] = "\(seconds)"
        return answer
    }
}
