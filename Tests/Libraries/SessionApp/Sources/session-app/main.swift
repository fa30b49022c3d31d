import Foundation
import PosternSession

// The tests play a person's phone by this program: orders as JSON lines on the standard input,
// answers and events as JSON lines on the standard output. Secrets come by the input only.

let player = Player()
// The main actor stays free for the page's model.
let lines = AsyncStream<String> { lines in
    Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        lines.finish()
    }
}
for await line in lines {
    guard let order = try? JSONDecoder().decode(Order.self, from: Data(line.utf8)) else {
        say(["fault": "this is no order"])
        continue
    }
    // Orders run side by side, as an app's calls do.
    Task { await player.obey(order) }
}
