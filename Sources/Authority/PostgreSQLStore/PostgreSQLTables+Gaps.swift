extension PostgreSQLTables {
    /// Spans of which the store knows nothing, and boards found ahead of it.
    static let gaps = [
        """
        CREATE TABLE gaps (
            began BIGINT PRIMARY KEY,
            ended BIGINT NOT NULL,
            restored BIGINT NOT NULL
        )
        """,
        """
        CREATE TABLE ahead (
            installation_id TEXT COLLATE "C" PRIMARY KEY,
            sign TEXT COLLATE "C" NOT NULL,
            since BIGINT NOT NULL
        )
        """,
    ]

    /// The sessions of a person, however many boards he has.
    static let peoplesSessions = [
        """
        CREATE INDEX sessions_off_boards ON sessions (user_id, created_at)
            WHERE device_key IS NULL AND state <> 'ended'
        """,
    ]
}
