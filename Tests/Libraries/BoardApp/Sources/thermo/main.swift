import PosternApp

let app = try App("thermo")
let seq = try await app.create("Reading", ["celsius": 21.5])
print("safe, as number", seq)
