import Foundation
import PosternSession

/// Does what each order says, and answers it.
actor Player {
    private var client: SessionClient?
    private var troubled: TroubledStorage?
    private var work: [Int: Task<Void, Never>] = [:]
    private let proof = Proof()

    func obey(_ order: Order) async {
        do {
            say(["id": order.id, "done": try await result(of: order)])
        } catch {
            say(["id": order.id, "error": form(error)])
        }
    }

    private func result(of order: Order) async throws -> Any {
        if order.act == "open" { return try await open(order) }
        guard let client else { throw SessionError.invalid("nothing is open") }
        switch order.act {
        case "login": return form(try await client.logIn(try credential(order)))
        case "hold": await troubled?.hold()
        case "release": await troubled?.release()
        case "proof": await proof.give(try credential(order))
        case "state": return form(client.availability)
        case "restore": return form(await client.restore())
        case "heartbeat": try await client.heartbeat()
        case "extend":
            let duration = Duration.seconds(order.seconds ?? 0)
            return form(try await client.extend(by: duration, shorten: order.shorten ?? false))
        case "sessions": return try await client.sessions().map { form($0) }
        case "revoke": try await client.revoke(order.session ?? "")
        case "logout": try await client.logOut()
        case "boards": return try await client.boards().map { form($0) }
        case "withdraw": try await client.withdraw(order.claim ?? "")
        case "claim": try await claim(order, client)
        case "follow": follow(order, client)
        case "updates": update(order, client)
        case "stop": work.removeValue(forKey: Int(order.seconds ?? 0))?.cancel()
        case "house": return await play(order, client)
        default: throw SessionError.invalid("no such act")
        }
        return NSNull()
    }

    private func open(_ order: Order) async throws -> Any {
        guard let url = URL(string: order.authority ?? "") else {
            throw SessionError.invalid("no address")
        }
        var options = SessionClient.Options()
        options.patience = .seconds(10)
        if let heartbeat = order.heartbeat { options.heartbeat = .seconds(heartbeat) }
        if let margin = order.renewalMargin {
            options.renewal = SessionRenewal(margin: .seconds(margin)) { [proof] in
                try await proof.take()
            }
        }
        let storage: any SessionStorage
        if let trouble = order.trouble {
            let made = TroubledStorage(isStuck: trouble == "stuck")
            troubled = made
            storage = made
        } else if let store = order.store {
            storage = try EncryptedFileStorage(file: URL(filePath: store))
        } else {
            storage = MemoryStorage()
        }
        let client = try SessionClient(authority: url, storage: storage, options: options)
        self.client = client
        let changes = client.sessionChanges
        Task {
            for await availability in changes {
                say(["event": "session", "session": form(availability)])
            }
            say(["event": "freed"])
        }
        return form(await client.restore())
    }

    private func credential(_ order: Order) throws -> LoginCredential {
        if let username = order.username, let password = order.password {
            return .password(username: username, password: password)
        }
        if let provider = order.provider, let token = order.token {
            return .idToken(token, provider: provider)
        }
        return .anonymous
    }

    private func claim(_ order: Order, _ client: SessionClient) async throws {
        let scope = order.classes.map { names in
            BoardScope(rules: names.map { BoardScope.Rule($0, allow: [.create]) })
        }
        let duration = order.seconds.map { Duration.seconds($0) }
        let steps = client.claim(
            url: order.url ?? "", duration: duration, scope: scope, name: "by the app")
        for try await progress in steps {
            say([
                "event": "claim", "step": progress.step.rawValue, "board": progress.boardID,
                "claim": progress.claimID, "session": progress.sessionID,
            ])
        }
    }

    private func follow(_ order: Order, _ client: SessionClient) {
        work[order.id] = Task {
            do {
                for try await event in client.events(of: order.board) {
                    switch event {
                    case .connected: say(["event": "connected"])
                    case .board(let board): say(["event": "board", "board": form(board)])
                    case .reading(let reading):
                        say([
                            "event": "reading", "class": reading.className,
                            "numbers": reading.numbers, "board": reading.installationID,
                        ])
                    case .sessionsChanged: say(["event": "sessions"])
                    }
                }
            } catch {
                say(["event": "ended", "error": form(error)])
            }
        }
    }

    private func update(_ order: Order, _ client: SessionClient) {
        work[order.id] = Task {
            do {
                for try await boards in client.boardUpdates() {
                    say(["event": "boards", "boards": boards.map { form($0) }])
                }
            } catch {
                say(["event": "ended", "error": form(error)])
            }
        }
    }

    /// The model of the page: logs in, and waits until it shows a board.
    private func play(_ order: Order, _ client: SessionClient) async -> Any {
        let house = await House(client: client)
        let following = Task { await house.follow() }
        defer { following.cancel() }
        await house.logIn(username: order.username ?? "", password: order.password ?? "")
        while await house.boards.isEmpty {
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
        }
        let shown = await house.boards.map { form($0) }
        await house.logOut()
        return shown
    }
}

/// The proof that the app gives for a silent renewal, once.
actor Proof {
    private var credential: LoginCredential?

    func give(_ credential: LoginCredential) { self.credential = credential }

    func take() throws -> LoginCredential {
        defer { credential = nil }
        say(["event": "asked"])
        guard let credential else { throw SessionError.invalid("there is no proof") }
        return credential
    }
}
