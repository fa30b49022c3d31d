import Glibc

/// Changes the user whose rights this process has.
package enum ProcessOwner {
    /// Changes from root to the owner of `folder`. New files there then belong to that user, so
    /// that their service can use them. Does nothing if the process is not root, if the folder is
    /// root's, or if it is missing.
    ///
    /// The corresponding C functions are `initgroups`, `setgid` and `setuid`. If it throws, some
    /// rights may be gone, so end the process.
    package static func stepDown(toOwnerOf folder: String) throws(SystemError) {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard unsafe lstat(folder, &status) == 0, status.st_uid != 0 else { return }
        let entry = unsafe getpwuid(status.st_uid)
        if let entry = unsafe entry, let name = unsafe entry.pointee.pw_name {
            guard unsafe initgroups(name, entry.pointee.pw_gid) == 0 else {
                throw .last("initgroups")
            }
            guard unsafe setgid(entry.pointee.pw_gid) == 0 else { throw .last("setgid") }
        } else {
            guard setgroups(0, nil) == 0 else { throw .last("setgroups") }
            guard setgid(status.st_gid) == 0 else { throw .last("setgid") }
        }
        guard setuid(status.st_uid) == 0 else { throw .last("setuid") }
    }

    /// The user and the group that own a folder. Nil if it is missing.
    package static func owner(of folder: String) -> (user: UInt32, group: UInt32)? {
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else { return nil }
        return (status.st_uid, status.st_gid)
    }

    /// The id of a group. Nil if this system has no group of that name.
    package static func group(named name: String) -> UInt32? {
        guard let entry = unsafe getgrnam(name) else { return nil }
        return unsafe entry.pointee.gr_gid
    }

    /// This machine's name, without its domain. The corresponding C function is `gethostname`.
    package static var hostName: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
