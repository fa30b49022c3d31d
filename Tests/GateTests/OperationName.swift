import Gate

/// Foundation has an `Operation` of its own.
typealias GateOperation = Operation
