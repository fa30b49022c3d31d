import Foundation
@testable import Gate
import Oracles
import Sessions
import Testing

/// A document beside Foundation's two parsers, free of any rule.
private struct Reading {
    let fault: FieldFault?
    let tree: JSONValue?
    let isRead: Bool

    init(_ bytes: [UInt8]) {
        fault = PayloadScanner.fault(in: bytes, type: .any)
        tree = FoundationReader.value(of: bytes)
        isRead = (try? JSONSerialization.jsonObject(
            with: Data(bytes), options: .fragmentsAllowed)) != nil
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// The scanner takes nothing that Foundation does not, and refuses nothing that Foundation
    /// takes but for a reason on the list; and what peers send is read as Foundation reads it.
    func isSound(_ bytes: [UInt8]) -> Bool {
        guard ReaderOracle.complaint(about: bytes) == nil else { return false }
        guard let fault else { return tree != nil && isRead }
        return tree == nil || Strictness(fault, in: bytes) != nil
    }
}

@Suite("JSON scanner beside Foundation")
struct JSONTests {
    @Test("takes what both take")
    func valid() {
        for text in JSONDocuments.valid {
            let reading = Reading(text)
            #expect(reading.fault == nil, "\(text)")
            #expect(reading.tree != nil && reading.isRead, "\(text)")
        }
    }

    @Test("refuses what neither takes")
    func invalid() {
        for bytes in JSONDocuments.invalid.map({ Array($0.utf8) }) + JSONDocuments.malformed {
            let reading = Reading(bytes)
            #expect(reading.fault != nil, "\(String(decoding: bytes, as: UTF8.self))")
            #expect(reading.tree == nil, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test("is stricter for these reasons and for no other")
    func strict() {
        for (bytes, reason) in JSONDocuments.strict {
            let reading = Reading(bytes)
            let text = String(decoding: bytes.prefix(60), as: UTF8.self)
            // The wire's own reader goes no deeper, either.
            #expect(reading.tree != nil || reason == .tooDeep, "\(text)")
            #expect(reading.fault.flatMap { Strictness($0, in: bytes) } == reason, "\(text)")
        }
        // An integer's form is a rule's affair, and shown with the numbers.
        let shown = Set(JSONDocuments.strict.map(\.reason)).union([.integerForm])
        #expect(shown == Set(Strictness.allCases))
    }

    @Test("refuses each beginning of a document that is not whole")
    func truncated() {
        for text in JSONDocuments.valid where "{[\"tfn".contains(text.first ?? " ") {
            let bytes = Array(text.utf8)
            for count in 0..<min(bytes.count, 200) {
                let reading = Reading(Array(bytes[..<count]))
                guard case .notJSON? = reading.fault?.kind else {
                    Issue.record("\(text) cut to \(count): \(String(describing: reading.fault))")
                    continue
                }
                #expect(reading.tree == nil)
            }
        }
    }

    @Test("agrees on documents that were tampered with", arguments: 1...8)
    func mutated(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let seeds = JSONDocuments.valid.map { Array($0.utf8.prefix(300)) }
            + JSONDocuments.invalid.map { Array($0.utf8) } + JSONDocuments.malformed
            + JSONDocuments.strict.map { Array($0.bytes.prefix(300)) }
        var taken = 0
        for _ in 0..<1500 {
            let bytes = Mutation.of(seeds, using: &random)
            let reading = Reading(bytes)
            if reading.fault == nil { taken += 1 }
            #expect(reading.isSound(bytes), "\(Data(bytes).base64EncodedString())")
        }
        // Some of what comes out has to be JSON still, or nothing was compared.
        #expect(taken > 50)
    }
}

@Suite("Values beside Foundation")
struct ValueTests {
    @Test("are within a range exactly where the decoder's double is")
    func ranges() throws {
        var random = SeededGenerator(seed: 4)
        var texts = JSONDocuments.numbers
        for edge in ["-40", "85", "-39.", "84."] {
            for count in 10...22 {
                let digits = edge.hasSuffix(".")
                    ? String(repeating: "9", count: count)
                    : "." + String(repeating: "0", count: count) + "1"
                texts.append(edge + digits)
            }
            texts.append(edge.hasSuffix(".") ? edge + "0" : edge + "0e-1")
        }
        for _ in 0..<400 {
            let whole = Int.random(in: -99...99, using: &random)
            texts.append("\(whole).\(UInt64.random(in: 0 ... .max, using: &random))")
        }
        for text in texts {
            let bytes = Array(text.utf8)
            // The decoder gives no double for a number that is too small for one.
            let value = Double(text) == 0
                ? 0 : try JSONDecoder().decode(Double.self, from: Data(bytes))
            for limits in ["-40..85", "0..", "..0", "0.1..0.1", "9007199254740993.."] {
                let type = try FieldType("number(\(limits))").value
                let isTaken = PayloadScanner.fault(in: bytes, type: type) == nil
                let isInside = ReferenceJudge(requiresAll: true).permits(.number(value), as: type)
                #expect(isTaken == isInside, "\(text) in \(limits)")
            }
        }
    }

    @Test("are integers where they are written as such and every reader keeps them", arguments: [
        ("0", true), ("-0", true), ("9007199254740991", true), ("-9007199254740991", true),
        ("9007199254740992", false), ("-9007199254740992", false), ("18446744073709551616", false),
        ("1.0", false), ("1e2", false), ("1E0", false), ("-0.0", false),
    ])
    func integers(text: String, isTaken: Bool) throws {
        let type = try FieldType("integer").value
        #expect((PayloadScanner.fault(in: Array(text.utf8), type: type) == nil) == isTaken)
        #expect(Reading(text).tree != nil)
    }

    @Test("have the decoder's length in bytes of UTF-8")
    func lengths() throws {
        for text in JSONDocuments.strings {
            let bytes = Array(text.utf8)
            let count = try JSONDecoder().decode(String.self, from: Data(bytes)).utf8.count
            for (range, isTaken) in [
                ("\(count)..\(count)", true), ("\(count + 1)..", false), ("..\(count)", true),
            ] {
                let type = try FieldType("string(\(range))").value
                #expect((PayloadScanner.fault(in: bytes, type: type) == nil) == isTaken, "\(text)")
            }
        }
    }
}
