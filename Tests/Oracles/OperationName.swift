package import Gate

/// Foundation has an `Operation` of its own.
package typealias GateOperation = Operation
