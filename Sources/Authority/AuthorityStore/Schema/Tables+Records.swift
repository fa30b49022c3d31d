extension Schema {
    // Commands to apps on boards. `text`, `answer` and `refusal` are JSON.
    static let commands = [
        Table(
            name: "commands",
            columns: [
                .number(.counted), .text("id"), .text("installation_id"), .text("session_id"),
                .text("user_id", of: "users"), .text("app"), .text("text").optional,
                .integer("created_at"), .integer("deadline"), .text("state"), .text("delivery"),
                .text("answer").optional, .text("refusal").optional, .truth("own_end"),
                .integer("sends"), .integer("sent_at").optional, .integer("due_at").optional,
            ], key: ["number"],
            indexes: [
                .unique("id", "command_ids"),
                .on("installation_id, number", "commands_of_board"),
                .on(
                    "installation_id, number", "open_commands_of_board",
                    where: "state IN ('waiting', 'delivered')"),
                .on(
                    "user_id", "open_commands_of_user",
                    where: "state IN ('waiting', 'delivered')"),
                .on("due_at", "command_times", where: "due_at IS NOT NULL"),
                .on("deadline", "command_deadlines"),
            ], check: "state IN ('waiting', 'delivered', 'answered', 'refused', 'expired')"),
    ]

    static let traffic = [
        // Numbered in the order of arrival. A new reply is written at the end of the table, beside
        // other new replies, and not between old ones.
        Table(
            name: "replies",
            columns: [
                .number(.counted), .text("installation_id"), .text("request_id"),
                .bytes("payload"), .integer("expires_at").optional, .integer("created_at"),
            ], key: ["number"],
            indexes: [
                .unique("installation_id, request_id", "reply_to_request"),
                .on("expires_at", "reply_ends", where: "expires_at IS NOT NULL"),
            ]),
        Table(
            name: "jobs",
            columns: [
                .number(.unique), .text("line"), .text("kind"), .truth("password"),
                .bytes("payload").optional, .integer("until").optional,
            ], key: ["number"], indexes: [.on("line, number", "jobs_in_line")]),
        Table(
            name: "timeline",
            columns: [
                .number(.counted), .text("installation_id"), .text("session_id").optional,
                .text("event"), .integer("at"), .integer("until"), .integer("count"),
                .text("detail"),
            ], key: ["number"],
            indexes: [
                .on("installation_id, number", "timeline_of_board"),
                .on("session_id", "timeline_of_session"),
            ], fillFactor: 80),
        // A board that is touched again gets a new number, and its old row is deleted.
        Table(
            name: "touches", columns: [.number(.committed), .text("installation_id")],
            key: ["number"], indexes: [.unique("installation_id", "touch_of_board")]),
    ]

    static let records = [
        Table(
            name: "audit",
            columns: [
                .number(.committed), .integer("at"), .text("event"), .text("actor"),
                .text("installation_id").optional, .text("session_id").optional, .text("detail"),
            ], key: ["number"],
            indexes: [.on("installation_id, number", "audit_of_board"), .on("at", "audit_times")]),
        Table(
            name: "failures", columns: [.number(.counted), .text("key"), .integer("at")],
            key: ["number"],
            indexes: [.on("key, at", "failures_by_key"), .on("at", "failures_by_time")]),
        // Only one key of each kind is in use. For signing keys the index enforces this.
        Table(
            name: "keys",
            columns: [
                .text("kind"), .text("name"), .bytes("public"), .bytes("private"),
                .integer("created_at"), .integer("retired_at").optional,
            ], key: ["kind", "name"],
            indexes: [.unique(
                "kind", "key_that_signs", where: "kind = 'signing' AND retired_at IS NULL")]),
        // `latest` is the latest time that a service has believed.
        Table(name: "times", columns: [.text("name"), .integer("at")], key: ["name"]),
        // Time spans that are missing from the store's records, and boards found ahead of the
        // store.
        Table(
            name: "gaps", columns: [.integer("began"), .integer("ended"), .integer("restored")],
            key: ["began"]),
        Table(
            name: "ahead",
            columns: [.text("installation_id"), .text("sign"), .integer("since")],
            key: ["installation_id"], isKeptByKey: true),
    ]

    static let alerts = [
        // `subject` is the board's id, or the owner's id for an alert about many boards.
        Table(
            name: "alerts",
            columns: [
                .text("id"), .text("kind"), .text("subject"), .text("board_name"), .text("text"),
                .text("details"), .integer("opened_at"), .integer("resolved_at").optional,
                .integer("messages"),
            ], key: ["id"],
            indexes: [
                .unique("kind, subject", "open_alerts", where: "resolved_at IS NULL"),
                .on("resolved_at", "alert_ends", where: "resolved_at IS NOT NULL"),
                .on("subject", "alerts_of_board"),
            ]),
        // Messages that are not delivered yet.
        Table(
            name: "alert_messages",
            columns: [
                .text("alert_id"), .text("channel"), .integer("number"), .text("state"),
                .integer("tries"), .integer("next_try"), .integer("until"),
            ], key: ["alert_id", "channel", "number"],
            indexes: [.on("channel, next_try", "alert_message_times")], isKeptByKey: true),
        // The last try on each channel.
        Table(
            name: "alert_deliveries",
            columns: [.text("channel"), .integer("at"), .text("failure").optional],
            key: ["channel"], isKeptByKey: true),
    ]
}
