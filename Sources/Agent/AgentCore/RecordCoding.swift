package import Sessions
package import Wire

// Each record is one JSON object, encrypted as a whole by the store.

extension BoardIdentity {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            installation: try json.parsed("installation", InstallationID.init),
            deviceSecret: SecretBytes(try json.bytes("deviceSecret", count: 32)),
            deviceKey: try json.bytes("deviceKey", count: 32))
    }

    package var json: JSONValue {
        .object([
            "installation": .string(installation.description),
            "deviceSecret": .string(Base64URL.encode(deviceSecret.reveal())),
            "deviceKey": .string(Base64URL.encode(deviceKey)),
        ])
    }
}

extension PendingClaim {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            secret: SecretBytes(try json.bytes("secret", count: 32)),
            expiresAt: try json.time("expiresAt"),
            awaitsClock: try json.optional("awaitsClock") { $0.asBool } ?? false,
            former: json.members["former"] == nil
                ? nil : SecretBytes(try json.bytes("former", count: 32)))
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "secret": .string(Base64URL.encode(secret.reveal())), "expiresAt": .time(expiresAt),
            "awaitsClock": .bool(awaitsClock),
        ]
        members["former"] = former.map { .string(Base64URL.encode($0.reveal())) }
        return .object(members)
    }
}

extension PendingJoin {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            id: try json.parsed("id", InstallationID.init),
            secret: SecretBytes(try json.bytes("secret", count: 32)),
            sealKey: try json.bytes("sealKey", count: 32),
            authority: try json.string("authority"), expiresAt: try json.time("expiresAt"))
    }

    package var json: JSONValue {
        .object([
            "id": .string(id.description), "secret": .string(Base64URL.encode(secret.reveal())),
            "sealKey": .string(Base64URL.encode(sealKey)), "authority": .string(authority),
            "expiresAt": .time(expiresAt),
        ])
    }
}

extension Trust {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            authority: try PinnedAuthority(json: try json.object("authority")),
            broker: try json.optional("broker") { value throws(WireError) in
                guard let members = value.asObject else { return nil }
                return try BrokerAccess(json: JSONObject(members))
            },
            firstPassword: try json.optional("firstPassword") { value in
                value.asString.map { SecretBytes(Array($0.utf8)) }
            },
            firstUsername: try json.optional("firstUsername") { $0.asString },
            highestSequence: try json.integer("highestSequence"),
            provision: try json.parsed("provision", MessageID.init),
            session: try json.parsed("session", ObjectID.init),
            payloadDigest: try json.bytes("payloadDigest", count: 32),
            isAcknowledged: try json.required("isAcknowledged") { $0.asBool },
            user: try json.parsed("user", UserID.init),
            issuer: try json.string("issuer"),
            spread: try json.spread(),
            lastUpdate: try json.optional("lastUpdate") { value in
                value.asString.flatMap(MessageID.init)
            })
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "authority": authority.json, "highestSequence": .integer(highestSequence),
            "provision": .string(provision.description),
            "session": .string(session.description),
            "payloadDigest": .string(Base64URL.encode(payloadDigest)),
            "isAcknowledged": .bool(isAcknowledged), "user": .string(user.description),
            "issuer": .string(issuer),
        ]
        members["broker"] = broker?.json
        members["firstPassword"] = firstPassword.map {
            .string(String(decoding: $0.reveal(), as: UTF8.self))
        }
        members["firstUsername"] = firstUsername.map(JSONValue.string)
        members["spread"] = spread.map { .integer($0.components.seconds) }
        members["lastUpdate"] = lastUpdate.map { .string($0.description) }
        return .object(members)
    }
}

extension HeldSession {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            session: try json.session("session"),
            user: try json.user("user"),
            tokens: try SessionTokens(json: json),
            scope: try json.optional("scope") { value in ScopeDocument(unchecked: value) },
            lastBeforeScope: try json.integer("lastBeforeScope"),
            heartbeat: .seconds(try json.integer("heartbeat")),
            offline: .seconds(try json.integer("offline")),
            lastContact: try json.time("lastContact"),
            pendingRefresh: try json.optional("pendingRefresh") { value in
                value.asString.flatMap(MessageID.init)
            },
            sessions: try json.optional("sessions") { value in
                // This is only a cache: skip entries that cannot be read, and keep the session.
                value.asArray?.compactMap { entry in
                    entry.asObject.flatMap { try? Session(json: JSONObject($0)) }
                }
            })
    }

    package var json: JSONValue {
        var members = tokens.members
        members["sessions"] = sessions.map { .array($0.map(\.json)) }
        members["session"] = session.json
        members["user"] = user.json
        members["scope"] = scope?.json
        members["lastBeforeScope"] = .integer(lastBeforeScope)
        members["heartbeat"] = .integer(heartbeat.components.seconds)
        members["offline"] = .integer(offline.components.seconds)
        members["lastContact"] = .time(lastContact)
        members["pendingRefresh"] = pendingRefresh.map { .string($0.description) }
        return .object(members)
    }
}

extension BoardMemory {
    package init(json: JSONObject) throws(WireError) {
        self.init(
            floor: try json.time("floor"),
            ended: try json.optional("ended") { value in
                value.asString.flatMap(UnavailableReason.init)
            },
            signOut: SignOut(kept: json.members["signOut"]),
            hasPolicy: json.members["hasPolicy"] == .bool(true),
            toldConfiguration: json.members["toldConfiguration"] == nil
                ? nil : try json.bytes("toldConfiguration", count: 32),
            takenClaims: try json.optional("takenClaims") { $0.asArray }?.compactMap { id in
                id.asString.flatMap { InstallationID($0) }
            } ?? [])
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = ["floor": .time(floor)]
        members["ended"] = ended.map { .string($0.rawValue) }
        members["signOut"] = signOut?.json
        if hasPolicy { members["hasPolicy"] = .bool(true) }
        members["toldConfiguration"] = toldConfiguration.map { .string(Base64URL.encode($0)) }
        if !takenClaims.isEmpty {
            members["takenClaims"] = .array(takenClaims.map { .string($0.description) })
        }
        return .object(members)
    }
}
