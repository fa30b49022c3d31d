import Foundation
import PosternApp

/// One line for each result, at once: tests read them while the program runs.
func say(_ words: Any...) {
    let line = words.map { "\($0)" }.joined(separator: " ") + "\n"
    FileHandle.standardOutput.write(Data(line.utf8))
}

func report(_ error: AppError) {
    switch error {
    case .refused(let refused):
        say("refused", refused.code, refused.rule, refused.field ?? "-", refused.text)
    case .sessionOver(let over): say("over", over.code, over.isFinal, over.text)
    case .unavailable(let away): say("unavailable", away.key ?? "-", away.text)
    case .invalid(let text): say("invalid", text)
    case .cancelled: say("cancelled")
    }
}

func perform(_ words: [String], _ app: App, key: String?) async throws(AppError) {
    switch (words.first, words.count) {
    case ("create", 3):
        say(try await app.create(words[1], ["celsius": Double(words[2])], key: key))
    case ("update", 4):
        say(try await app.update(
            words[1], id: words[2], ["celsius": Double(words[3])], key: key))
    case ("delete", 3): say(try await app.delete(words[1], id: words[2], key: key))
    case ("text", 2): say(try await app.create("Note", words[1], key: key))
    case ("session", 1):
        let session = try await app.session()
        say(session.isAvailable, session.reason ?? session.user ?? "")
    case ("sessions", 1):
        for await session in app.sessions {
            say(session.isAvailable, session.reason ?? "")
            if session.isFinal { return }
        }
    case ("many", 2): try await many(Int(words[1]) ?? 0, app)
    case ("cancel", 1): await cancel(app)
    case ("close", 1): try await close(app)
    case ("held", 2): try await held(app, key, until: words[1])
    case ("tutorial", 1): print(await write(Reading(celsius: 21.5, takenAt: Date()), to: app))
    case ("serve", 2): await serve(app, until: words[1])
    case ("notes", 3): try await note(app, in: words[1], until: words[2])
    default: throw .invalid("unknown command \(words)")
    }
}

/// Writes at once, from as many tasks.
private func many(_ count: Int, _ app: App) async throws(AppError) {
    let results = await withTaskGroup(of: Result<Int, AppError>.self) { group in
        for number in 1...count {
            group.addTask {
                do throws(AppError) {
                    return .success(try await app.create("Reading", ["n": number]))
                } catch {
                    return .failure(error)
                }
            }
        }
        return await group.reduce(into: []) { $0.append($1) }
    }
    for result in results { say(try result.get()) }
}

/// A write that waits for a board without an agent is given up by its task.
private func cancel(_ app: App) async {
    let writing = Task { () async -> AppError? in
        do throws(AppError) {
            try await app.create("Reading", ["n": 1])
            return nil
        } catch {
            return error
        }
    }
    writing.cancel()
    if let error = await writing.value { report(error) }
}

/// Calls end with the app.
private func close(_ app: App) async throws(AppError) {
    async let waiting: Void = { for await _ in app.sessions {} }()
    try await app.create("Reading", ["n": 1])
    await app.close()
    await waiting
    do throws(AppError) {
        _ = try await app.session()
    } catch {
        report(error)
    }
    try await app.create("Reading", ["n": 2])
}

/// A write that waits until the app is closed.
private func held(_ app: App, _ key: String?, until end: String) async throws(AppError) {
    let closing = Task {
        while !FileManager.default.fileExists(atPath: end) {
            try? await Task.sleep(for: .milliseconds(10))
        }
        await app.close()
    }
    defer { closing.cancel() }
    say(try await app.create("Reading", ["n": 1], key: key))
}

/// A command of the tests.
private struct Temperature: Decodable {
    let celsius: Int
}

private struct TooHot: Error {}

/// Answers commands until the file is there.
private func serve(_ app: App, until end: String) async {
    await app.onCommand { (command: Temperature) in
        say("command", command.celsius)
        if command.celsius > 30 { throw TooHot() }
        return ["done": command.celsius]
    }
    while !FileManager.default.fileExists(atPath: end) {
        try? await Task.sleep(for: .milliseconds(10))
    }
}

/// Notes each write that was answered. When it starts again, it goes on behind them.
private func note(_ app: App, in notes: String, until end: String) async throws(AppError) {
    let known = (try? String(contentsOfFile: notes, encoding: .utf8)) ?? ""
    guard let file = FileHandle(forWritingAtPath: notes) else {
        throw .invalid("there is no file \(notes)")
    }
    file.seekToEndOfFile()
    var number = known.split(separator: "\n").count
    while !FileManager.default.fileExists(atPath: end) {
        let seq = try await app.create("Reading", ["n": number], key: "write \(number)")
        file.write(Data("\(number) \(seq)\n".utf8))
        number += 1
        try? await Task.sleep(for: .milliseconds(10))
    }
}
