import CLinux
import Glibc

/// A thread for blocking work that must not hold up a loop or a task.
///
/// The corresponding C functions are `pthread_create`, `pthread_join` and `pthread_detach`.
package struct WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts `body` on a new thread, named `name` (15 bytes at most are kept).
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        let box = unsafe Unmanaged.passRetained(Work(name: name, body: body))
        let result = unsafe pthread_create(&thread, nil, { argument in
            guard let argument = unsafe argument else { return nil }
            let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
            _ = unsafe set_thread_name(work.name)
            work.body()
            return nil
        }, box.toOpaque())
        guard result == 0 else {
            unsafe box.release()
            throw SystemError("pthread_create", code: result)
        }
        self.thread = thread
    }

    /// Waits until the body has returned. Call it at most once, and not after `detach`.
    package func join() {
        _ = pthread_join(thread, nil)
    }

    /// Lets the thread end by itself, without a `join`.
    package func detach() {
        _ = pthread_detach(thread)
    }

    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
            self.body = body
        }
    }
}
