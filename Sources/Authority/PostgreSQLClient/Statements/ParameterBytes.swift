/// The values of one statement's parameters, in the arrays that libpq takes.
struct ParameterBytes {
    private var bytes: [UInt8] = []
    /// The start of each value; nil is null.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []

    /// The number of bytes to send.
    var count: Int { bytes.count }

    /// Throws `misfit` if a value does not fit its parameter.
    init(_ values: [SQLValue], _ types: [ServerType]) throws(PostgresError) {
        guard values.count == types.count else {
            throw .misfit("\(values.count) values for \(types.count) parameters")
        }
        for (value, type) in zip(values, types) {
            guard value != .null else {
                starts.append(nil)
                lengths.append(0)
                continue
            }
            let start = bytes.count
            try type.encode(value, into: &bytes)
            guard let length = Int32(exactly: bytes.count - start), length < 1 << 30 else {
                throw .misfit("a value has more than 1 GiB")
            }
            starts.append(start)
            lengths.append(length)
        }
        // An empty value also needs a pointer: no pointer means null.
        bytes.append(0)
    }

    /// Lends the arrays of values, lengths and formats to `body`. All values are binary.
    @unsafe
    func lend<R>(
        to body: (
            _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> R
    ) -> R {
        let formats = [Int32](repeating: 1, count: starts.count)
        return unsafe bytes.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = unsafe starts.map { start in
                unsafe start.flatMap { offset in unsafe base.map { unsafe $0 + offset } }
            }
            return unsafe values.withUnsafeBufferPointer { values in
                unsafe lengths.withUnsafeBufferPointer { lengths in
                    unsafe formats.withUnsafeBufferPointer { formats in
                        unsafe body(
                            values.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
