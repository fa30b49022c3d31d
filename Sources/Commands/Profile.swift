import LinuxIO
import Sessions
import Wire

/// A login as it is kept between commands: at which authority, as whom, and the token.
struct Profile: Sendable {
    let authority: AuthorityURL
    let applicationID: String
    let username: String
    let objectID: ObjectID
    let token: SessionToken

    fileprivate init(json: JSONObject) throws(WireError) {
        authority = try json.parsed("authority", AuthorityURL.init)
        applicationID = try json.string("applicationId")
        username = try json.string("username")
        objectID = try json.parsed("objectId", ObjectID.init)
        token = try json.parsed("sessionToken", SessionToken.init)
    }

    init(
        authority: AuthorityURL, applicationID: String, username: String,
        objectID: ObjectID, token: SessionToken
    ) {
        self.authority = authority
        self.applicationID = applicationID
        self.username = username
        self.objectID = objectID
        self.token = token
    }

    fileprivate var json: JSONValue {
        .object([
            "authority": .string(authority.description), "applicationId": .string(applicationID),
            "username": .string(username),
            "objectId": .string(objectID.description), "sessionToken": .string(token.reveal()),
        ])
    }
}

/// The folder of the profile. The file in it has mode 0600 and is replaced whole.
struct ProfileFolder: Sendable {
    let path: String
    private static let limit = 16 * 1024

    private var file: String { "\(path)/profile.json" }

    /// Nil when nobody has logged in. Throws for a file that is more open than 0600, belongs
    /// to another, or is damaged.
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
                // A folder that others may look into is a person's choice; one that they may
                // write to is not.
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
