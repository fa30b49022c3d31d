import Foundation

// What the power-cut sweep needs of the board's own store: something to record, and something
// that opens what a power cut has left.
//
//     powercut-store write FOLDER SEED ROUNDS small|bulky
//     powercut-store trouble FOLDER SEED full|sync      calls fail: see Trouble
//     powercut-store look FOLDER      opens it, says its facts, mends it, and says them again
//     powercut-store time FOLDER COUNT      fills a queue, and says how many ms its opening takes
//     powercut-store open      a folder a line on stdin, its facts a line on stdout

let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.count) {
case ("write", 5):
    guard let seed = UInt64(arguments[3]), let rounds = Int(arguments[4]) else { exit(2) }
    var story = try Story(folder: arguments[2], seed: seed, isBulky: arguments[5] == "bulky")
    try story.run(rounds: rounds)
case ("trouble", 4):
    guard let seed = UInt64(arguments[3]), let kind = Faults.Kind(rawValue: arguments[4]) else {
        exit(2)
    }
    var trouble = try Trouble(folder: arguments[2], seed: seed, kind)
    try trouble.run()
case ("look", 2):
    try Opening.look(at: arguments[2])
case ("time", 3):
    guard let count = Int64(arguments[3]) else { exit(2) }
    print(try Opening.milliseconds(folder: arguments[2], count: count))
case ("open", 1):
    while let folder = readLine() { try Opening.facts(of: folder).say() }
default:
    FileHandle.standardError.write(Data("usage: see main.swift\n".utf8))
    exit(2)
}
