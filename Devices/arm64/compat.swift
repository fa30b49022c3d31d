// Appended to the interface of Debian's Swift 6.2: a function that Swift 6.3 has with typed throws,
// and that swift-collections calls so. It is compiled into each caller.
@_alwaysEmitIntoClient @_transparent public func withUnsafeTemporaryAllocation<T, R, E>(of type: T.Type, capacity: Swift.Int, _ body: (Swift.UnsafeMutableBufferPointer<T>) throws(E) -> R) throws(E) -> R where E : Swift.Error, T : ~Copyable, R : ~Copyable {
  let result: Result<R, E> = _withUnsafeTemporaryAllocation(
    of: type,
    capacity: capacity,
    alignment: MemoryLayout<T>.alignment
  ) { pointer in
    do throws(E) {
      Builtin.bindMemory(pointer, capacity._builtinWordValue, type)
      let buffer = UnsafeMutableBufferPointer<T>(
        start: .init(pointer),
        count: capacity
      )
      return .success(try body(buffer))
    } catch {
      return .failure(error)
    }
  }
  return try result.get()
}
