import Foundation
import Gate
import Sessions

/// Holds the payload scanner against Foundation's two JSON parsers and a judge of trees.
package enum PayloadOracle {
    /// What is wrong with how the scanner judged an input; nil where nothing is.
    ///
    /// The first byte says by which rules, and whether the rest is a whole payload or the
    /// value of a member `v`.
    package static func complaint(about input: [UInt8]) -> String? {
        guard let choice = input.first else { return nil }
        let isMember = choice & 0x40 != 0
        let payload =
            isMember ? Array(#"{"v":"#.utf8) + input.dropFirst() + Array("}".utf8)
            : Array(input.dropFirst())
        if let complaint = ReaderOracle.complaint(about: payload) { return complaint }
        let fields = Shape.samples[Int(choice & 0x0F) % Shape.samples.count]
        return complaint(
            about: payload, of: choice & 0x80 == 0 ? .create : .update, by: fields)
    }

    package static func complaint(
        about payload: [UInt8], of operation: GateOperation, by fields: [String: Shape.Member]
    ) -> String? {
        let fault = Shape.rules(fields).fault(in: payload, of: operation)
        let tree = FoundationReader.value(of: payload)
        let judge = ReferenceJudge(requiresAll: operation == .create)
        guard let fault else {
            guard case .object(let members) = tree else { return "Foundation's decoder refuses" }
            guard isRead(payload) else { return "JSONSerialization refuses" }
            return judge.permits(members, as: fields, isRecord: true)
                ? nil : "a reader sees what no rule allows"
        }
        guard fault.path.utf8.count <= 128 * 40 else { return "a path without bound" }
        if let reason = Strictness(fault, in: payload), !reason.isSeenInTree { return nil }
        guard case .object(let members) = tree else { return nil }
        return judge.permits(members, as: fields, isRecord: true)
            ? "refused for nothing: \(fault)" : nil
    }

    private static func isRead(_ payload: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(payload), options: .fragmentsAllowed)) != nil
    }
}
