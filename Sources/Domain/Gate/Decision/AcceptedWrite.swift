package import Sessions

/// A write that the gate allowed. It is stored durably and then forwarded.
package struct AcceptedWrite: Equatable, Sendable {
    /// Increases with each write that this installation accepts.
    package let sequence: Int64
    /// The session that accepted the write, and the user of that session.
    package let session: ObjectID
    package let user: UserID
    package let acceptedAt: Timestamp
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    /// The upstream topic.
    package let topic: String
    /// The app's payload, byte for byte.
    package let payload: [UInt8]

    package init(
        sequence: Int64, session: ObjectID, user: UserID, acceptedAt: Timestamp, app: AppName,
        className: ClassName, operation: Operation, topic: String, payload: [UInt8]
    ) {
        self.sequence = sequence
        self.session = session
        self.user = user
        self.acceptedAt = acceptedAt
        self.app = app
        self.className = className
        self.operation = operation
        self.topic = topic
        self.payload = payload
    }
}
