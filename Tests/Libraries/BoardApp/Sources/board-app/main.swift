import PosternApp

// board-app [timeout=SECONDS] [key=KEY] [bus=URI] COMMAND…: an app that tests tell what to do.

var words = Array(CommandLine.arguments.dropFirst())
var options: [String: String] = [:]
while let parts = words.first?.split(separator: "=", maxSplits: 1), parts.count == 2 {
    options[String(parts[0])] = String(parts[1])
    words.removeFirst()
}
do throws(AppError) {
    let app = try App(
        options["name"] ?? "thermo", bus: options["bus"],
        timeout: .seconds(options["timeout"].flatMap(Double.init) ?? 30))
    try await perform(words, app, key: options["key"])
} catch {
    report(error)
}
