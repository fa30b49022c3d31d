import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests by `URLSession`. Keeps no cookie and no cache, and follows no redirect: the
/// session's token goes to the authority's own address only.
final class HTTPTransport: Sendable {
    private let session: URLSession
    private let delegate = TransferDelegate()

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    /// Status and body of the answer. The body has at most `limit` bytes.
    func answer(to request: URLRequest, limit: Int) async throws(SessionError) -> (Int, Data) {
        let receiver = AnswerReceiver(limit: limit)
        let task = session.dataTask(with: request)
        delegate.add(receiver, of: task)
        let result = await withTaskCancellationHandler {
            task.resume()
            return await withCheckedContinuation { receiver.wait($0) }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    /// Runs a request until it ends; `receiver` gets what arrives. Returns how to end it sooner.
    func start(_ request: URLRequest, _ receiver: some TransferReceiver) -> @Sendable () -> Void {
        let task = session.dataTask(with: request)
        delegate.add(receiver, of: task)
        task.resume()
        return { task.cancel() }
    }
}

/// What a running request does with what arrives. It is called in order, never twice at a time.
protocol TransferReceiver: Sendable {
    func begin(_ head: HTTPURLResponse)
    /// Throws if this is more than it takes; the request is then cancelled.
    func take(_ data: Data) throws(SessionError)
    /// Called once, at the end. The error is nil if all has arrived.
    func end(_ error: SessionError?)
}

/// Collects one answer.
private final class AnswerReceiver: TransferReceiver {
    typealias Result = Swift.Result<(Int, Data), SessionError>

    private struct State {
        var status = 0
        var body = Data()
        /// How it ended, once it has.
        var result: Result?
        var waiting: CheckedContinuation<Result, Never>?
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    func wait(_ continuation: CheckedContinuation<Result, Never>) {
        let result = state.withLock { state in
            if state.result == nil { state.waiting = continuation }
            return state.result
        }
        if let result { continuation.resume(returning: result) }
    }

    func begin(_ head: HTTPURLResponse) { state.withLock { $0.status = head.statusCode } }

    func take(_ data: Data) throws(SessionError) {
        let isTooLarge = state.withLock { state in
            guard data.count <= limit - state.body.count else { return true }
            state.body.append(data)
            return false
        }
        if isTooLarge { throw .malformedAnswer("it has more than \(limit) bytes") }
    }

    func end(_ error: SessionError?) {
        let (result, waiting) = state.withLock { state -> (Result, _) in
            let result: Result = error.map { .failure($0) } ?? .success((state.status, state.body))
            state.result = result
            defer { state.waiting = nil }
            return (result, state.waiting)
        }
        waiting?.resume(returning: result)
    }
}

/// Hands what arrives to the receiver of its request.
private final class TransferDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Transfer {
        let receiver: any TransferReceiver
        var fault: SessionError?
    }

    private let transfers = Mutex<[Int: Transfer]>([:])

    func add(_ receiver: some TransferReceiver, of task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = Transfer(receiver: receiver) }
    }

    private func receiver(of task: URLSessionTask) -> (any TransferReceiver)? {
        transfers.withLock { $0[task.taskIdentifier]?.receiver }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let head = response as? HTTPURLResponse { receiver(of: dataTask)?.begin(head) }
        completionHandler(.allow)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
    ) {
        do throws(SessionError) {
            try receiver(of: dataTask)?.take(data)
        } catch {
            transfers.withLock { $0[dataTask.taskIdentifier]?.fault = error }
            dataTask.cancel()
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        transfer?.receiver.end(transfer?.fault ?? error.map(SessionError.init(network:)))
    }
}

extension SessionError {
    /// What `URLSession` says of a request that failed, without the address.
    init(network error: any Error) {
        let text = error.localizedDescription
        guard let error = error as? URLError else {
            self = .transport(text)
            return
        }
        switch error.code {
        case .cancelled: self = .cancelled
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .clientCertificateRejected, .clientCertificateRequired:
            self = .tls(text)
        // Foundation on Linux has no code for it, only the words of libcurl.
        case .unknown where text.contains("SSL") || text.contains("certificate"):
            self = .tls(text)
        default: self = .transport(text)
        }
    }
}
