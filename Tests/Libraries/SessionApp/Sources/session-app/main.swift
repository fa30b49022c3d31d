import Foundation
import PosternSession

// The tests play a person's phone by this program: orders as JSON lines on the standard input,
// answers and events as JSON lines on the standard output. Secrets come by the input only.

let player = Player()
while let line = readLine() {
    guard let order = try? JSONDecoder().decode(Order.self, from: Data(line.utf8)) else {
        say(["fault": "this is no order"])
        continue
    }
    // Orders run side by side, as an app's calls do.
    Task { await player.obey(order) }
}
