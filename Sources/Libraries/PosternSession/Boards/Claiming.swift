import Foundation

extension SessionClient {
    /// Pairs a board by the URL that its code holds, and tells each step: sealed, sent, opened by
    /// the board, first data. One answer of the authority tells the first two, so they come
    /// together.
    ///
    /// `duration` is how long the board's session lasts; nil: as long as the authority lets it.
    /// `scope` is what it may do; nil: all that a board may. The sequence ends with the step
    /// `firstData`, or with an error. To stop reading it does not end the claim: see
    /// ``withdraw(_:)``.
    public nonisolated func claim(
        url: String, duration: Duration? = nil, scope: BoardScope? = nil, name: String? = nil
    ) -> AsyncThrowingStream<ClaimProgress, any Error> {
        AsyncThrowingStream { steps in
            let work = Task {
                do throws(SessionError) {
                    let order = ClaimOrderForm(
                        url: try ClaimAddress(url).text,
                        durationSeconds: duration?.components.seconds, scope: scope,
                        session: name.map { ["name": $0] })
                    try await self.claim(order) { steps.yield($0) }
                    steps.finish()
                } catch {
                    steps.finish(throwing: error)
                }
            }
            steps.onTermination = { _ in work.cancel() }
        }
    }

    /// Takes back a claim that waits for its board.
    public func withdraw(_ claimID: String) async throws(SessionError) {
        _ = try await ask(.delete("/postern/v1/claims/\(try claimID.pathPart)"))
    }

    private func claim(
        _ order: ClaimOrderForm, _ tell: (ClaimProgress) -> Void
    ) async throws(SessionError) {
        let board = try ClaimAddress(order.url).board
        let earlier = try await lastData(of: board)
        var claim = try await ask(
            .send("POST", "/postern/v1/claims", order), as: ClaimForm.self)
        tell(claim.progress(.sealed))
        tell(claim.progress(.sent))
        while claim.state == "sent" {
            try await look()
            claim = try await patiently { () throws(SessionError) in
                try await self.ask(
                    .get("/postern/v1/claims/\(try claim.claimId.pathPart)"), as: ClaimForm.self)
            }
        }
        guard claim.state == "accepted" else {
            throw .claimEnded(ClaimEnd(
                state: claim.state, code: claim.reason?.code, text: claim.reason?.error ?? ""))
        }
        tell(claim.progress(.opened))
        while try await patiently({ () throws(SessionError) in
            try await self.lastData(of: board)
        }) == earlier {
            try await look()
        }
        tell(claim.progress(.firstData))
    }

    /// A person watches, so the client asks once a second.
    private func look() async throws(SessionError) {
        await pause(.seconds(1))
        if Task.isCancelled { throw .cancelled }
    }

    /// When data last came from a board, in milliseconds; nil also for a board of nobody.
    private func lastData(of board: String) async throws(SessionError) -> Int64? {
        struct LiveForm: Decodable { let lastDataMs: Int64? }
        do throws(SessionError) {
            return try await ask(
                .get("/postern/v1/boards/\(try board.pathPart)/live"), as: LiveForm.self
            ).lastDataMs
        } catch .refused(let refusal) where refusal.code == 101 {
            return nil
        }
    }
}

/// The URL that a board shows. It holds a secret, so no error repeats it.
///
/// Source: the wire contract, Identities and claims.
struct ClaimAddress {
    /// Without what a terminal or a chat may have put in.
    let text: String
    /// The board's installation id.
    let board: String

    init(_ text: String) throws(SessionError) {
        let again = "scan the code again, or copy the whole URL"
        let whole = text.filter { !$0.isWhitespace && !"\"'<>`".contains($0) }
        guard whole.utf8.count <= 4096 else { throw .invalid("this is no claim URL; \(again)") }
        let halves = whole.split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty else {
            throw .invalid("this is no claim URL: it has no # with a board's code; \(again)")
        }
        let parts = Dictionary(
            halves[1].split(separator: "&").map { part in
                let sides = part.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (sides[0], sides.count == 2 ? sides[1] : "")
            }, uniquingKeysWith: { one, _ in one })
        guard parts["v"] == "1" else {
            throw .invalid("the code has an unknown version; update the app, or \(again)")
        }
        guard let id = parts["i"], UUID(uuidString: String(id)) != nil else {
            throw .invalid("the code is damaged: the board's id is malformed; \(again)")
        }
        for secret in ["k", "c"] where parts[secret[...]]?.utf8.count != 43 {
            throw .invalid("the code is damaged or not complete; \(again)")
        }
        self.text = whole
        board = String(id)
    }
}
