import LinuxIO
import Sessions
import Wire

/// A saved login: the authority, the user and the token.
struct Profile: Sendable {
    let authority: AuthorityURL
    let applicationID: String
    let username: String
    let objectID: ObjectID
    let token: SessionToken
    let trust: AuthorityTrust

    fileprivate init(json: JSONObject) throws(WireError) {
        authority = try json.parsed("authority", AuthorityURL.init)
        applicationID = try json.string("applicationId")
        username = try json.string("username")
        objectID = try json.parsed("objectId", ObjectID.init)
        token = try json.parsed("sessionToken", SessionToken.init)
        trust = try AuthorityTrust(json: json)
    }

    init(
        authority: AuthorityURL, applicationID: String, username: String,
        objectID: ObjectID, token: SessionToken, trust: AuthorityTrust
    ) {
        self.trust = trust
        self.authority = authority
        self.applicationID = applicationID
        self.username = username
        self.objectID = objectID
        self.token = token
    }

    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "authority": .string(authority.description), "applicationId": .string(applicationID),
            "username": .string(username),
            "objectId": .string(objectID.description), "sessionToken": .string(token.reveal()),
        ]
        members.merge(trust.members) { own, _ in own }
        return .object(members)
    }
}

extension AuthorityTrust {
    fileprivate init(json: JSONObject) throws(WireError) {
        let text = { (name: String) throws(WireError) in
            try json.optional(name) { $0.asString }
        }
        if let pem = try text("ca") { roots = .pinned(pem) }
        if let file = try text("caFile") { roots = .file(file) }
        if let certificate = try text("certificate"), let key = try text("key") {
            identity = Identity(certificateFile: certificate, keyFile: key)
        }
    }

    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        switch roots {
        case .system, .none: break
        case .pinned(let pem): members["ca"] = .string(pem)
        case .file(let file): members["caFile"] = .string(file)
        }
        members["certificate"] = identity.map { .string($0.certificateFile) }
        members["key"] = identity.map { .string($0.keyFile) }
        return members
    }
}

/// The folder of the profile. Its file has mode 0600 and is replaced as a whole.
struct ProfileFolder: Sendable {
    let path: String
    private static let limit = 16 * 1024

    private var file: String { "\(path)/profile.json" }

    /// Nil if nobody has logged in. Throws if the file is more open than 0600, belongs to another
    /// user, or is damaged.
    func load() throws(CommandFailure) -> Profile? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(file, limit: Self.limit)
        } catch {
            if case .missing = error { return nil }
            throw .configuration(error.description)
        }
        do throws(WireError) {
            return try Profile(json: try JSONObject(parsing: bytes))
        } catch {
            throw .configuration("\(file): \(error.refusal.text); log in again to replace it")
        }
    }

    func store(_ profile: Profile) throws(CommandFailure) {
        do throws(FileFailure) {
            do throws(FileFailure) {
                try PrivateFolder.prepare(path)
            } catch .tooOpen {
                // The user may let others read the folder. Others must not write to it.
                try PrivateFolder.prepare(path, mode: 0o755)
            }
            try PrivateFile.write(file, profile.json.bytes)
        } catch {
            throw .configuration(error.description)
        }
    }

    func remove() throws(CommandFailure) {
        do throws(FileFailure) {
            try PrivateFile.remove(file)
        } catch {
            throw .configuration(error.description)
        }
    }
}
