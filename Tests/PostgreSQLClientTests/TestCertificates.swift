import Foundation

/// What a server with TLS needs, made by the `openssl` command: `ca.pem`, which has signed
/// `server.pem` for the name `localhost`, and `other.pem`, which has not.
enum TestCertificates {
    static func make(in folder: String) throws {
        let authority = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        let names = "subjectAltName=DNS:localhost"
        try openssl("\(authority) -subj /CN=Test-CA -keyout ca.key -out ca.pem", in: folder)
        try openssl("\(authority) -subj /CN=Other-CA -keyout other.key -out other.pem", in: folder)
        try openssl(
            "\(authority) -subj /CN=localhost -addext \(names) -addext basicConstraints=CA:FALSE"
                + " -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem", in: folder)
        // The server refuses a key that others may read.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: folder + "/server.key")
    }

    private static func openssl(_ command: String, in folder: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = command.split(separator: " ").map(String.init)
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(command: command) }
    }

    private struct Failed: Error {
        let command: String
    }
}
