package import Sessions

/// The names in a write, as a topic of the board's bus gives them, without the payload.
package struct NamedWrite: Equatable, Sendable {
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    /// The record that is written; nil for `create`.
    package let record: RecordID?
    /// The destination of a route; nil: the contract's topic for this write.
    package let destination: Destination?

    package init(
        app: AppName, className: ClassName, operation: Operation, record: RecordID? = nil,
        destination: Destination? = nil
    ) {
        self.app = app
        self.className = className
        self.operation = operation
        self.record = record
        self.destination = destination
    }

    /// The write to pass to the gate.
    package func with(_ payload: [UInt8]) -> Write {
        Write(
            app: app, className: className, operation: operation, payload: payload,
            destination: destination)
    }
}
