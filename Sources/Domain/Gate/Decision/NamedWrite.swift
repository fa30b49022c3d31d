package import Sessions

/// A write by its names: what a topic of the board's bus asks for, its payload aside.
package struct NamedWrite: Equatable, Sendable {
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    /// Of which record; nil for `create`.
    package let record: RecordID?
    /// Where a route leads; nil: the contract's topic for this write.
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

    /// The write that the gate is asked about.
    package func with(_ payload: [UInt8]) -> Write {
        Write(
            app: app, className: className, operation: operation, payload: payload,
            destination: destination)
    }
}
