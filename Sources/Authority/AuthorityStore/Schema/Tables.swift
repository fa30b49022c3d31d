/// The tables of a store. Each comes after the tables that it refers to.
extension Schema {
    static let tables = people + sessions + pushes + boards + shares + claims + commands + traffic
        + records + alerts

    private static let people = [
        Table(
            name: "users",
            columns: [
                .text("id"), .text("username"), .text("password_hash"), .truth("administrator"),
                .truth("may_claim"), .integer("created_at"), .truth("enabled"),
                .bytes("anonymous_hash").optional, .text("name_key"), .text("email").optional,
                .text("email_key").optional, .text("fields").optional, .integer("updated_at"),
            ], key: ["id"],
            indexes: [
                // `Username.key` and `EmailAddress.key`: what looks the same is the same.
                .unique("name_key", "usernames"),
                .unique("email_key", "emails", where: "email_key IS NOT NULL"),
                .unique(
                    "anonymous_hash", "anonymous_users", where: "anonymous_hash IS NOT NULL"),
            ]),
        // Accounts of users at other providers. They are found by a token's claims or by the user.
        Table(
            name: "identities",
            columns: [
                .text("provider"), .text("issuer"), .text("subject"),
                .text("user_id", of: "users"), .integer("created_at"),
            ], key: ["provider", "issuer", "subject"],
            indexes: [.unique("user_id, provider", "identities_of_user")], isKeptByKey: true),
        Table(
            name: "spent_proofs", columns: [.bytes("hash"), .integer("ends_at")],
            key: ["hash"], indexes: [.on("ends_at", "spent_proof_ends")], isKeptByKey: true),
        Table(
            name: "passkeys",
            columns: [
                .text("id"), .bytes("credential"), .text("user_id", of: "users"), .text("site"),
                .text("name"), .bytes("cose_key"), .integer("counter"), .integer("created_at"),
                .integer("last_used_at").optional,
            ], key: ["id"],
            indexes: [
                .unique("credential", "passkey_credentials"),
                .on("user_id, created_at", "passkeys_of_user"),
            ]),
        Table(
            name: "recovery_codes",
            columns: [
                .text("user_id", of: "users"), .bytes("hash"), .integer("created_at"),
            ], key: ["user_id"], indexes: [.unique("hash", "recovery_code_hashes")]),
        // Programs that wait until a person allows their login. `address` and `network` are what
        // the limits count.
        Table(
            name: "login_requests",
            columns: [
                .bytes("device_hash"), .bytes("user_hash"), .text("program"), .text("origin"),
                .text("address"), .text("network"), .integer("created_at"), .integer("ends_at"),
                .text("state"), .text("user_id", of: "users").optional,
                .text("session_id").optional, .integer("polled_at").optional,
            ], key: ["device_hash"],
            indexes: [
                .unique("user_hash", "login_request_codes"),
                .on("address, ends_at", "login_requests_of_address"),
                .on("network, ends_at", "login_requests_of_network"),
                .on("ends_at", "login_request_ends"),
                .on("user_id", "login_requests_of_user", where: "user_id IS NOT NULL"),
            ], check: "state IN ('waiting', 'allowed', 'denied')"),
    ]

    private static let sessions = [
        Table(
            name: "sessions",
            columns: [
                .text("id"), .text("user_id", of: "users"), .text("state"),
                .text("end_reason").optional, .truth("restricted"), .text("action"),
                .text("provider"), .text("installation_id").optional, .integer("created_at"),
                .integer("expires_at").optional, .text("custom").optional, .bytes("token_hash"),
                .bytes("family").optional, .bytes("device_key").optional, .text("scope").optional,
                .text("scope_notice_id").optional, .bytes("scope_notice_payload").optional,
                .integer("absolute_limit"), .integer("last_seen"),
                .integer("confirmed_at").optional, .integer("ended_at").optional,
                .bytes("end_notice_payload").optional, .integer("end_notice_until").optional,
                // Each heartbeat would write to an index on `last_seen`, so the index has only the
                // hour.
                .integer("hour_seen").computed(as: "last_seen / 3600000"),
            ], key: ["id"], indexes: sessionIndexes,
            check: "state IN ('pending', 'active', 'ended')", fillFactor: 70),
        Table(
            name: "families",
            columns: [
                .bytes("id"), .text("session_id", of: "sessions"), .integer("generation"),
                .text("last_request").optional, .integer("last_use").optional,
                .truth("invalidated"),
            ], key: ["id"], indexes: [.on("session_id", "families_of_session")],
            isKeptByKey: true, fillFactor: 70),
        Table(
            name: "person_logins",
            columns: [
                .text("session_id", of: "sessions"), .text("user_id", of: "users"),
                .bytes("password"),
            ], key: ["session_id"], indexes: [.on("user_id", "person_logins_of_user")]),
        // Broker logins for other programs. Names in a list are separated by spaces; NULL: all.
        Table(
            name: "consumers",
            columns: [
                .text("id"), .text("user_id", of: "users"), .text("name"),
                .text("boards").optional, .text("classes").optional, .integer("created_at"),
                .integer("until").optional, .bytes("password"),
            ], key: ["id"],
            indexes: [
                .unique("user_id, name", "consumers_of_user"),
                .on("until", "consumer_ends", where: "until IS NOT NULL"),
            ]),
    ]

    private static let pushes = [
        // Browsers that get alerts, each on a login of its person.
        Table(
            name: "push_subscriptions",
            columns: [
                .text("session_id", of: "sessions"), .text("user_id", of: "users"),
                .text("endpoint"), .bytes("point"), .bytes("secret"), .integer("created_at"),
            ], key: ["session_id"],
            indexes: [
                .unique("endpoint", "push_endpoints"),
                .on("user_id", "push_subscriptions_of_user"),
            ]),
    ]

    private static let sessionIndexes: [Index] = [
        .unique("token_hash", "session_of_token"),
        .unique("installation_id", "session_of_board", where: """
            state = 'active' AND installation_id IS NOT NULL AND device_key IS NOT NULL
            """),
        .unique("user_id, installation_id", "session_of_installation", where: """
            state = 'active' AND installation_id IS NOT NULL AND device_key IS NULL
            """),
        .on("installation_id", "departing_of_board", where: "end_notice_until IS NOT NULL"),
        .on(
            "installation_id, ended_at", "past_of_board",
            where: "state = 'ended' AND device_key IS NOT NULL"),
        .on("end_notice_until", "end_notices", where: "end_notice_until IS NOT NULL"),
        .on("installation_id", "scope_notices", where: "scope_notice_id IS NOT NULL"),
        .on("user_id, created_at", "sessions_of_user"),
        // A person's sessions, found fast even if they have many boards.
        .on(
            "user_id, created_at", "sessions_off_boards",
            where: "device_key IS NULL AND state <> 'ended'"),
        .on("expires_at", "session_ends", where: "state = 'active'"),
        .on("absolute_limit", "session_limits", where: "state = 'active'"),
        .on("hour_seen", "session_uses", where: "state = 'active'"),
        .on("created_at", "session_beginnings", where: "state = 'active'"),
        .on("ended_at", "session_past", where: "state = 'ended'"),
    ]

    private static let boards = [
        // Labels have a space before and after each; none is an empty text.
        Table(
            name: "boards",
            columns: [
                .text("id"), .text("name"), .bytes("device_key"), .text("owner", of: "users"),
                .truth("released"), .integer("last_seen").optional, .integer("owned_since"),
                .text("name_key"), .text("labels"),
            ], key: ["id"],
            indexes: [
                .on("owner, name_key, id", "boards_of_owner"),
                .on("name_key, id", "boards_by_name"),
                .on("owner, labels", "labels_of_owner", where: "labels <> ''"),
            ], fillFactor: 70),
        // Boards whose place another board took. They stay for ever, because their keys must stay
        // refused.
        Table(
            name: "replacements",
            columns: [
                .text("installation_id"), .text("successor"), .bytes("device_key"),
                .integer("replaced_at"), .integer("waited").optional,
                .integer("last_arrived").optional,
            ], key: ["installation_id"],
            indexes: [
                .on("successor", "replaced_boards"), .on("device_key", "replaced_keys"),
            ]),
        Table(
            name: "statuses", columns: [.text("installation_id"), .text("status")],
            key: ["installation_id"], fillFactor: 70),
        Table(
            name: "broker_logins", columns: [.text("installation_id"), .bytes("password")],
            key: ["installation_id"]),
        Table(
            name: "sequences",
            columns: [.text("seal_key"), .text("installation_id"), .integer("last")],
            key: ["seal_key", "installation_id"], isKeptByKey: true, fillFactor: 70),
        // The rules have their own column: they change rarely, but the numbers change with each
        // heartbeat.
        Table(
            name: "reports",
            columns: [
                .text("installation_id"), .text("numbers"), .text("rules").optional,
                .integer("since"),
            ], key: ["installation_id"], fillFactor: 70),
        // The rules that boards have sent. `content` is encrypted.
        Table(
            name: "configurations",
            columns: [.text("installation_id"), .bytes("content"), .integer("saved_at")],
            key: ["installation_id"]),
        // What is announced to Home Assistant. Ids in the list are separated by spaces.
        Table(
            name: "sensors",
            columns: [.text("installation_id"), .text("ids"), .integer("count")],
            key: ["installation_id"]),
        // Parse's `_Installation` and `_Role`. Ids in a list are separated by spaces.
        Table(
            name: "installations",
            columns: [
                .text("id"), .text("installation_id"), .text("owner", of: "users").optional,
                .text("fields"), .integer("created_at"), .integer("updated_at"),
            ], key: ["id"],
            indexes: [
                .unique("installation_id", "installation_ids"),
                .on("owner", "installations_of_owner"), .on("created_at", "installation_times"),
            ]),
        Table(
            name: "roles",
            columns: [
                .text("id"), .text("name"), .text("acl"), .text("users"), .text("roles"),
                .integer("created_at"), .integer("updated_at"),
            ], key: ["id"], indexes: [.unique("name", "role_names")]),
        // Requests of Parse clients that took effect. `holder` is whose ids they are among.
        Table(
            name: "requests",
            columns: [.bytes("hash"), .text("holder"), .integer("ends_at")], key: ["hash"],
            indexes: [
                .on("holder, ends_at", "requests_of_holder"), .on("ends_at", "request_ends"),
            ], isKeptByKey: true),
    ]

    private static let shares = [
        // Names of classes in a list are separated by spaces; NULL: all.
        Table(
            name: "shares",
            columns: [
                .text("id"), .text("installation_id", of: "boards"), .text("user_id", of: "users"),
                .text("owner_id", of: "users"), .text("level"), .text("classes").optional,
                .integer("until").optional, .integer("created_at"),
            ], key: ["id"],
            indexes: [
                .unique("user_id, installation_id", "shares_of_user"),
                .on("installation_id", "shares_of_board"),
                .on("until", "share_ends", where: "until IS NOT NULL"),
            ], check: "level IN ('see', 'manage')"),
        Table(
            name: "invitations",
            columns: [
                .text("id"), .bytes("hash"), .text("installation_id", of: "boards"),
                .text("owner_id", of: "users"), .text("level"), .text("classes").optional,
                .integer("until").optional, .integer("created_at"), .integer("expires_at"),
            ], key: ["id"],
            indexes: [
                .unique("hash", "invitation_hashes"),
                .on("installation_id", "invitations_to_board"),
                .on("expires_at", "invitation_ends"),
            ], check: "level IN ('see', 'manage')"),
    ]

    private static let claims = [
        Table(
            name: "claims",
            columns: [
                .text("id"), .text("installation_id"), .text("session_id", of: "sessions"),
                .text("claimant", of: "users"), .text("state"), .integer("created_at"),
                .integer("expires_at"), .bytes("secret_hash"), .text("board_name"),
                .bytes("device_key"), .bytes("payload").optional,
                .bytes("broker_password").optional, .bytes("former_password").optional,
                .text("renews").optional, .integer("reason_code").optional,
                .text("reason_text").optional, .text("token_origin"),
            ], key: ["id"],
            indexes: [
                .unique("installation_id", "open_claim_of_board", where: "state = 'sent'"),
                .on("expires_at", "open_claim_ends", where: "state = 'sent'"),
                .on("secret_hash", "used_secrets", where: "state = 'accepted'"),
                .on("session_id", "claims_of_session"),
            ]),
        Table(
            name: "spent_secrets", columns: [.bytes("secret_hash")], key: ["secret_hash"],
            isKeptByKey: true),
        // Boards that wait for a person who types their code. `address` and `network` are what the
        // limits count.
        Table(
            name: "claim_codes",
            columns: [
                .bytes("device_hash"), .bytes("user_hash"), .text("installation_id"),
                .bytes("device_key"), .text("board_name"), .text("origin"), .text("address"),
                .text("network"), .integer("created_at"), .integer("ends_at"), .text("state"),
                .text("user_id", of: "users").optional, .text("session_id").optional,
                .integer("duration").optional, .text("scope").optional,
                .text("custom").optional, .text("claim_id").optional,
            ], key: ["device_hash"],
            indexes: [
                .unique("user_hash", "claim_code_codes"),
                .on("address, ends_at", "claim_codes_of_address"),
                .on("network, ends_at", "claim_codes_of_network"),
                .on("ends_at", "claim_code_ends"),
            ], check: "state IN ('waiting', 'named', 'claimed', 'refused')"),
        // Claims for boards that are not known yet. `psk` and `password` are NULL once the file is
        // void; the columns of the board are NULL until one came.
        Table(
            name: "prepared_claims",
            columns: [
                .text("id"), .text("owner_id", of: "users"), .text("state"), .text("name"),
                .text("labels"), .text("scope").optional, .integer("duration").optional,
                .text("action"), .text("provider"), .truth("accepts_at_once"),
                .integer("created_at"), .integer("expires_at"), .integer("ended_at").optional,
                .bytes("psk").optional, .bytes("password").optional,
                .text("installation_id").optional, .bytes("device_key").optional,
                .text("board_name").optional, .integer("asked_at").optional,
                .bytes("claim_secret").optional, .bytes("former_secrets").optional,
                .integer("renewed_at").optional, .text("claim_id").optional,
                .integer("second_at").optional,
            ], key: ["id"],
            indexes: [
                .on("owner_id, created_at", "prepared_claims_of_user"),
                .on("owner_id", "open_prepared_claims_of_user", where: "psk IS NOT NULL"),
                .on("expires_at", "prepared_claim_ends", where: "psk IS NOT NULL"),
                .on("ended_at", "former_prepared_claims", where: "ended_at IS NOT NULL"),
                .unique("claim_id", "claim_of_prepared_claim", where: "claim_id IS NOT NULL"),
                .on("second_at", "prepared_claims_used_twice", where: "second_at IS NOT NULL"),
            ], check: "state IN ('prepared', 'asking', 'accepted', 'ended')"),
    ]
}
