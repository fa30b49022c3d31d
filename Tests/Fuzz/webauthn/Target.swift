import Oracles

/// What libFuzzer calls with each input; it brings the `main`.
@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: data, count: count))
    if let complaint = WebAuthnOracle.complaint(about: input) { fatalError(complaint) }
    return 0
}
