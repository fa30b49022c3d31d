import Foundation
import Observation
import PosternSession

/// The whole model of a phone app: a person, their boards, and the pairing of a new one.
@MainActor @Observable
final class House {
    private(set) var isLoggedIn = false
    private(set) var notice = ""
    private(set) var boards: [PairedBoard] = []
    /// Why the boards may be out of date; empty while they are not. Show it above the list.
    private(set) var boardsNotice = ""
    private(set) var steps: [ClaimProgress.Step] = []

    private let client: SessionClient

    init(client: SessionClient) { self.client = client }

    /// Runs as long as the app: `.task { await house.follow() }` in SwiftUI.
    func follow() async {
        await client.restore()
        var updates: Task<Void, Never>?
        for await availability in client.sessionChanges {
            switch availability {
            case .available:
                isLoggedIn = true
                notice = ""
                if updates == nil { updates = Task { await followBoards() } }
            case .unavailable(.authorityAway(let error)):
                notice = "Offline: \(error)"
            case .unavailable(let reason):
                isLoggedIn = false
                notice = words(for: reason)
                boards = []
                boardsNotice = ""
                updates?.cancel()
                updates = nil
            }
        }
    }

    private func words(for reason: SessionUnavailability) -> String {
        switch reason {
        case .loggedOut: ""
        case .ended: "Your session has ended. Log in again."
        case .unreadable(let error), .storageAway(let error): "\(error)"
        case .authorityAway(let error): "\(error)"
        }
    }

    func logIn(username: String, password: String) async {
        do {
            try await client.logIn(.password(username: username, password: password))
        } catch {
            notice = "\(error)"
        }
    }

    private func followBoards() async {
        while !Task.isCancelled {
            do {
                for try await boards in client.boardUpdates() {
                    self.boards = boards
                    boardsNotice = ""
                }
            } catch {
                // `follow` shows the end of the session, and cancels this.
                if !Task.isCancelled { boardsNotice = "This list may be out of date: \(error)" }
            }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    /// `url` is what the camera read from the board's code.
    func pair(url: String) async {
        steps = []
        do {
            for try await progress in client.claim(url: url, duration: .seconds(30 * 86_400)) {
                steps.append(progress.step)
            }
        } catch {
            notice = "\(error)"
        }
    }

    func logOut() async {
        do {
            try await client.logOut()
        } catch {
            notice = "The logout is not complete: \(error)"
        }
    }
}
