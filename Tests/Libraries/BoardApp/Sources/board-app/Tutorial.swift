// The code of the tutorial, which a test compares with this file.

import FoundationEssentials
import PosternApp

struct Reading: Encodable {
    let celsius: Double
    let takenAt: Date
}

/// Writes one reading, once, however long it takes. False if a person must do something first.
func write(_ reading: Reading, to app: App) async -> Bool {
    let key = UUID().uuidString
    while true {
        do {
            let seq = try await app.create("Reading", reading, key: key)
            print("safe, as number", seq)
            return true
        } catch .unavailable(let away) {
            print("trying again:", away.text)
        } catch .sessionOver(let over) where !over.isFinal {
            print("waiting for a session:", over.text)
        } catch {
            print("not written:", error)
            return false
        }
    }
}

/// Returns when a person must pair the board again.
func follow(_ app: App) async {
    for await session in app.sessions {
        if session.isAvailable {
            print("this board belongs to", session.user ?? "nobody")
        } else {
            print("no session:", session.reason ?? "unknown")
        }
        if session.isFinal { return }
    }
}

struct Heating: Decodable {
    let celsius: Double
}

/// Answers each command from now on.
func heat(_ app: App) async {
    await app.onCommand { (heating: Heating) in
        print("heating to", heating.celsius)
        return ["done": true]
    }
}
