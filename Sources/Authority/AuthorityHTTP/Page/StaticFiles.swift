import Cryptography
import Foundation
import HTTPTypes
import Sessions
import Wire

/// The files of the console's page, read once. No other file is served.
package struct StaticFiles: Sendable {
    struct File: Sendable {
        let bytes: [UInt8]
        let type: String
        /// An entity tag of the content. Source: RFC 9110 §8.8.3.
        let tag: String
    }

    /// By path below `/console/`.
    private let files: [String: File]

    /// The largest size of all files together, in bytes.
    package static let limit = 1 << 20

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "ico": "image/x-icon", "webmanifest": "application/manifest+json",
    ]

    /// A console without a page.
    package static let none = StaticFiles(files: [:])

    package var isEmpty: Bool { files.isEmpty }

    private init(files: [String: File]) { self.files = files }

    /// Reads the files of known types in a folder and its subfolders.
    ///
    /// - Throws: the file system's error, `StaticFilesError` if the folder has no `index.html` or
    ///   `claim.html` or if its files have more than `limit` bytes, or OpenSSL's error.
    package init(folder: String) throws {
        let root = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
        guard let paths = FileManager.default.enumerator(atPath: root.path) else {
            throw StaticFilesError.missing(folder)
        }
        var files: [String: File] = [:]
        var total = 0
        for case let path as String in paths {
            guard let type = Self.types[(path as NSString).pathExtension] else { continue }
            let bytes = [UInt8](try Data(contentsOf: root.appendingPathComponent(path)))
            total += bytes.count
            guard total <= Self.limit else { throw StaticFilesError.tooLarge(folder) }
            files[path] = File(bytes: bytes, type: type, tag: Self.tag(bytes))
        }
        guard files["index.html"] != nil, files["claim.html"] != nil else {
            throw StaticFilesError.missing(folder)
        }
        if let worker = files[Self.worker] {
            let bytes = try Self.firstLine(files) + worker.bytes
            files[Self.worker] = File(bytes: bytes, type: worker.type, tag: Self.tag(bytes))
        }
        self.files = files
    }

    subscript(_ path: String) -> File? { files[path] }

    /// The page's service worker.
    static let worker = "worker.js"

    /// The first line of the service worker. It names the files that the browser keeps, with their
    /// digests, so that it never mixes two versions, and takes over each change of a file.
    ///
    /// Source: W3C Subresource Integrity §3.5; W3C Service Workers, "Update".
    private static func firstLine(_ files: [String: File]) throws -> [UInt8] {
        let kept = files.keys.sorted().filter { path in
            !path.contains("/") && !path.hasSuffix(".png") && ![worker, "claim.html"].contains(path)
        }
        let list = JSONValue.array(try kept.map { path in
            let digest = try SHA256.digest(files[path]?.bytes ?? [])
            return .array([
                .string(path == "index.html" ? "" : "console/\(path)"),
                .string("sha256-" + Data(digest).base64EncodedString()),
            ])
        })
        // A new worker takes nothing from the files that the old one uses.
        let program = files[worker]?.bytes ?? []
        let version = Base64URL.encode(try SHA256.digest(list.bytes + program))
        let page = JSONValue.object(["version": .string(version), "files": list])
        return Array("const page = ".utf8) + page.bytes + Array(";\n".utf8)
    }

    /// FNV-1a, 64 bits. It distinguishes versions of our own files and has no security purpose.
    private static func tag(_ bytes: [UInt8]) -> String {
        let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return "\"\(String(hash, radix: 16))-\(bytes.count)\""
    }
}

package enum StaticFilesError: Error, CustomStringConvertible {
    case missing(String)
    case tooLarge(String)

    package var description: String {
        switch self {
        case .missing(let folder): "\(folder) lacks the console's index.html or claim.html"
        case .tooLarge(let folder): "\(folder) has more than \(StaticFiles.limit) bytes"
        }
    }
}

extension StaticFiles {
    /// Scripts and styles only from this server, none inline. Requests only to this server. No
    /// framing. No string becomes markup or script (Trusted Types); the one exception is the
    /// address of the service worker.
    ///
    /// Source: W3C Content Security Policy 3; W3C Trusted Types.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'",
        "img-src 'self' blob: data:", "connect-src 'self'", "manifest-src 'self'",
        "worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types worker",
    ].joined(separator: "; ")
}
