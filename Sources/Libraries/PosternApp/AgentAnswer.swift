import Sessions
import Wire

/// The agent's answer to a write.
enum AgentAnswer {
    /// The write is on the board's disk, with this number.
    case accepted(Int)
    case failed(AppError)
    /// The queue is full, the app is too fast, or there is no session for now: the same write may
    /// be sent again.
    case later(AppError)

    /// Nil for a payload that is no answer.
    init?(_ payload: [UInt8]) {
        do throws(WireError) {
            let answer = try JSONObject(parsing: payload)
            guard let code = answer.members["code"]?.asInteger.flatMap(Int.init(exactly:)) else {
                guard let number = Int(exactly: try answer.integer("seq")) else { return nil }
                self = .accepted(number)
                return
            }
            let isFinal = answer.members["final"] == .bool(true)
            let error = Self.error(code, isFinal, answer)
            self = [140, 155, 206, 209].contains(code) && !isFinal ? .later(error) : .failed(error)
        } catch {
            return nil
        }
    }

    private static func error(_ code: Int, _ isFinal: Bool, _ answer: JSONObject) -> AppError {
        let text = answer.members["error"]?.asString
        guard code == 206 || code == 209 else {
            return .refused(AppError.Refused(
                code: code, rule: answer.members["rule"]?.asString ?? "",
                field: answer.members["field"]?.asString, text: text ?? "refused"))
        }
        return .sessionOver(AppError.SessionOver(
            code: code, isFinal: isFinal, text: text ?? "there is no session"))
    }
}
