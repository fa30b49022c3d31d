import LinuxIO

/// Finds rows of a table in the pages of a damaged database file, past the trees that lead to
/// them. What it gives may be wrong in any way: its reader checks it.
///
/// Source: sqlite.org/fileformat2.html, "B-tree Pages", "Record Format", "Pointer Map".
final class PageCarver {
    private static let page = 4096
    /// Longest record that is put together.
    private static let recordLimit = 64 << 20

    /// A column's value.
    enum Value {
        case null
        case number(Int64)
        case bytes([UInt8])

        var number: Int64? { if case .number(let number) = self { number } else { nil } }
        var blob: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
        var text: String? { blob.flatMap { String(validating: $0, as: UTF8.self) } }
    }

    private let file: FilePages

    init(_ path: String) throws(FileFailure) { file = try FilePages(path, size: Self.page) }

    /// How a tree keeps its records.
    enum Kind: UInt8 {
        /// Under row ids.
        case table = 0x0D
        /// Without: the row id that is given is 0.
        case index = 0x0A

        /// The most bytes of a record that a page holds before it overflows.
        var most: Int {
            self == .table ? PageCarver.page - 35 : (PageCarver.page - 12) * 64 / 255 - 23
        }
    }

    /// Lends each record of so many columns that stands on a leaf page in use, with its row id.
    func records<E: Error>(
        _ kind: Kind, columns: Int, _ body: (Int64, [Value]) throws(E) -> Void
    ) throws(E) {
        var map: [UInt8] = []
        for number in stride(from: 2, through: file.count, by: 1) {
            if Self.isMap(number) {
                map = file.read(number)
                continue
            }
            if Self.isFree(number, map) { continue }
            let page = file.read(number)
            guard page.count == Self.page, page[0] == kind.rawValue else { continue }
            for cell in Self.cells(page) {
                guard let (row, record) = record(page, at: cell, kind),
                    let values = Self.values(record, columns)
                else { continue }
                try body(row, values)
            }
        }
    }

    private static let mapSpan = page / 5 + 1

    /// Whether a page is one of the pointer map: the second, and each 820th after it.
    private static func isMap(_ number: Int) -> Bool { (number - 2) % mapSpan == 0 }

    private static func isFree(_ number: Int, _ map: [UInt8]) -> Bool {
        let place = ((number - 2) % mapSpan - 1) * 5
        return place >= 0 && place < map.count && map[place] == 2
    }

    private static func half(_ page: [UInt8], _ place: Int) -> Int {
        Int(page[place]) << 8 | Int(page[place + 1])
    }

    private static func cells(_ page: [UInt8]) -> [Int] {
        let count = min(half(page, 3), (Self.page - 8) / 2)
        let places = (0..<count).map { half(page, 8 + 2 * $0) }
        return places.filter { $0 >= 8 && $0 < Self.page - 4 }
    }

    /// A cell's row id and its whole record, its overflow pages included.
    private func record(_ page: [UInt8], at cell: Int, _ kind: Kind) -> (Int64, [UInt8])? {
        var place = cell
        guard let size = Self.varint(page, &place),
            let row = kind == .table ? Self.varint(page, &place) : 0,
            let length = Int(exactly: size), length > 0, length <= Self.recordLimit
        else { return nil }
        let (most, least) = (kind.most, (Self.page - 12) * 32 / 255 - 23)
        guard length > most else {
            guard place + length <= Self.page else { return nil }
            return (row, Array(page[place..<place + length]))
        }
        let rest = least + (length - least) % (Self.page - 4)
        let local = rest <= most ? rest : least
        guard place + local + 4 <= Self.page,
            Self.types(Array(page[place..<place + local]), total: length) != nil
        else { return nil }
        var bytes = Array(page[place..<place + local])
        var next = Self.pageNumber(page, place + local)
        while bytes.count < length {
            let overflow = next > 1 && next <= file.count ? file.read(next) : []
            guard overflow.count == Self.page else { return nil }
            bytes += overflow[4..<min(Self.page, 4 + length - bytes.count)]
            next = Self.pageNumber(overflow, 0)
        }
        return (row, bytes)
    }

    private static func pageNumber(_ page: [UInt8], _ place: Int) -> Int {
        half(page, place) << 16 | half(page, place + 2)
    }

    /// The types that a record's header names; nil when they are not of so many bytes in all:
    /// a damaged length would have half the file read.
    private static func types(_ record: [UInt8], total: Int) -> (types: [Int64], end: Int)? {
        var place = 0
        guard let header = varint(record, &place), header >= 1, header <= 64,
            Int(header) <= record.count
        else { return nil }
        var types: [Int64] = []
        var size = Int(header)
        while place < Int(header), let type = varint(record, &place) {
            guard let bytes = bytes(of: type), bytes <= total else { return nil }
            types.append(type)
            size += bytes
        }
        return place == Int(header) && size == total ? (types, place) : nil
    }

    private static func bytes(of type: Int64) -> Int? {
        switch type {
        case 0, 8, 9: 0
        case 1...4: Int(type)
        case 5: 6
        case 6: 8
        case 12...: Int((type - 12) / 2)
        default: nil
        }
    }

    private static func values(_ record: [UInt8], _ columns: Int) -> [Value]? {
        guard let header = types(record, total: record.count), header.types.count == columns
        else { return nil }
        var place = header.end
        var values: [Value] = []
        for type in header.types {
            guard let value = value(record, &place, type) else { return nil }
            values.append(value)
        }
        return values
    }

    private static func value(_ record: [UInt8], _ place: inout Int, _ type: Int64) -> Value? {
        switch type {
        case 0: return .null
        case 8: return .number(0)
        case 9: return .number(1)
        default: break
        }
        guard let size = bytes(of: type), size <= record.count - place else { return nil }
        let bytes = record[place..<place + size]
        place += size
        if type >= 12 { return .bytes(Array(bytes)) }
        let isNegative = (bytes.first ?? 0) & 0x80 != 0
        return .number(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
    }

    /// Big-endian, seven bits a byte, eight in the ninth.
    private static func varint(_ bytes: [UInt8], _ place: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard place < bytes.count else { return nil }
            let byte = bytes[place]
            place += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { break }
        }
        return Int64(bitPattern: value)
    }
}
