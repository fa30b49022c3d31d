// Records what a program does to one folder, and what it says and hears, in one order.
//
// Loaded with LD_PRELOAD. POSTERN_RECORD_FOLDER is the folder (it may not exist yet) and
// POSTERN_RECORD_LOG the file that grows; several processes may share it. Each record is written
// with one call once what it tells of has happened, so a sync counts from its end on. The form of
// a record is that of `struct head`; journal.py reads it.
//
// With POSTERN_FAULTS some calls fail: see faults.h.
//
// What would change a file past this recorder (a writable shared mapping, O_SYNC, a hole in a file)
// is recorded as `B`, and the sweep refuses such a journal rather than believe it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "faults.h"

struct head {
    uint32_t length;     // of the whole record
    uint32_t kind;       // one of the letters below
    uint32_t process;
    uint32_t descriptor;
    uint64_t object;     // the file's inode; for a socket the port of its other end
    uint64_t offset;
    uint32_t first;      // bytes of the first name
    uint32_t second;     // bytes of the second name; the data follow
};

enum { UNKNOWN = 0, FILE_KIND = 1, FOLDER_KIND = 2, SOCKET_KIND = 3, OTHER_KIND = 4 };
enum { LIMIT = 4096 };
static struct { int kind; uint64_t object; } known[LIMIT];
static const char *folder;
static size_t folder_length;
static int log_file = -1;

static void record(int kind, int fd, uint64_t object, uint64_t offset,
                   const char *first, const char *second, const void *data, size_t count) {
    if (log_file < 0) return;
    struct head head = {
        .kind = kind, .process = getpid(), .descriptor = fd, .object = object, .offset = offset,
        .first = first ? strlen(first) : 0, .second = second ? strlen(second) : 0,
    };
    head.length = sizeof head + head.first + head.second + count;
    struct iovec parts[] = {
        { &head, sizeof head }, { (void *)first, head.first }, { (void *)second, head.second },
        { (void *)data, count },
    };
    int saved = errno;
    if (syscall(SYS_writev, log_file, parts, 4) != (long)head.length) abort();
    errno = saved;
}

__attribute__((constructor)) static void begin(void) {
    folder = getenv("POSTERN_RECORD_FOLDER");
    const char *log = getenv("POSTERN_RECORD_LOG");
    if (!folder || !log) return;
    map_faults();
    folder_length = strlen(folder);
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) abort();
    // Out of the way of those who count on low numbers.
    int high = fcntl(log_file, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) { syscall(SYS_close, log_file); log_file = high; }
}

static int is_within(const char *path) {
    if (log_file < 0 || !path || strncmp(path, folder, folder_length)) return 0;
    return path[folder_length] == '/' || path[folder_length] == 0;
}

// The folder itself, a folder in it, or the one that holds it.
static int is_watched_folder(const char *path) {
    if (log_file < 0) return 0;
    if (is_within(path)) return 1;
    const char *slash = strrchr(folder, '/');
    size_t parent = slash - folder;
    return strlen(path) == parent && !strncmp(path, folder, parent);
}

static void forget(int fd) { if (fd >= 0 && fd < LIMIT) known[fd].kind = UNKNOWN; }

static void learn(int fd, int kind, uint64_t object) {
    if (fd < 0) return;
    if (fd >= LIMIT) { record('B', fd, 0, 0, "descriptor", 0, 0, 0); return; }
    known[fd].kind = kind;
    known[fd].object = object;
}

// What a descriptor stands for; sockets that were not seen to be made are asked for.
static int kind_of(int fd) {
    if (log_file < 0 || fd < 0 || fd >= LIMIT || fd == log_file) return OTHER_KIND;
    if (known[fd].kind != UNKNOWN) return known[fd].kind;
    struct stat status;
    int saved = errno;
    int is_socket = fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    errno = saved;
    learn(fd, is_socket || fd == 1 || fd == 2 ? SOCKET_KIND : OTHER_KIND, 0);
    return known[fd].kind;
}

static uint64_t inode_of(int fd) {
    struct stat status;
    int saved = errno;
    uint64_t found = fstat(fd, &status) == 0 ? status.st_ino : 0;
    errno = saved;
    return found;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

// Opening.

static int open_with(const char *path, int flags, mode_t mode) {
    int is_made = 0;
    if (is_within(path) && (flags & O_CREAT)) {
        struct stat status;
        int saved = errno;
        is_made = lstat(path, &status) != 0;
        errno = saved;
        if (is_made && fails(0)) return -1;
    }
    int fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
    if (fd < 0) return fd;
    forget(fd);
    if (!is_watched_folder(path)) return fd;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        learn(fd, FOLDER_KIND, status.st_ino);
        record('O', fd, status.st_ino, 0, path, 0, 0, 0);
        return fd;
    }
    if (!is_within(path)) return fd;
    learn(fd, FILE_KIND, inode_of(fd));
    if (is_made) record('C', fd, known[fd].object, 0, path, 0, 0, 0);
    else record('O', fd, known[fd].object, 0, path, 0, 0, 0);
    if (!is_made && (flags & O_TRUNC)) record('T', fd, known[fd].object, 0, path, 0, 0, 0);
    if (flags & (O_SYNC | O_DSYNC)) record('B', fd, known[fd].object, 0, "O_SYNC", 0, 0, 0);
    return fd;
}

static mode_t mode_in(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_in(flags, rest); \
        va_end(rest); \
        return open_with(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
int __open_2(const char *path, int flags) { return open_with(path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_with(path, flags, 0); }
int creat(const char *path, mode_t mode) {
    return open_with(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

#define OPENAT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_in(flags, rest); \
        va_end(rest); \
        if (path[0] == '/' || at == AT_FDCWD) return open_with(path, flags, mode); \
        int fd = syscall(SYS_openat, at, path, flags | O_LARGEFILE, mode); \
        if (fd >= 0) forget(fd); \
        if (fd >= 0 && kind_of(at) == FOLDER_KIND) \
            record('B', fd, 0, 0, "openat", path, 0, 0); \
        return fd; \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    forget(fd);
    return syscall(SYS_close, fd);
}

int dup(int fd) {
    int other = syscall(SYS_dup, fd);
    if (other >= 0) forget(other);
    if (other >= 0 && kind_of(fd) == FILE_KIND) record('B', fd, 0, 0, "dup", 0, 0, 0);
    return other;
}

// Changing files.

static void wrote(int fd, off_t offset, const void *bytes, ssize_t count) {
    if (count > 0) record('W', fd, known[fd].object, offset, 0, 0, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    if (kind_of(fd) == FILE_KIND && fails(0)) return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, count, offset);
    if (kind_of(fd) == FILE_KIND) wrote(fd, offset, bytes, done);
    return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    if (kind_of(fd) == FILE_KIND) record('B', fd, 0, 0, "pwritev", 0, 0, 0);
    return real(fd, parts, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    int kind = kind_of(fd);
    if (kind == FILE_KIND && fails(0)) return -1;
    ssize_t done = syscall(SYS_write, fd, bytes, count);
    if (done <= 0) return done;
    if (kind == FILE_KIND) wrote(fd, lseek(fd, 0, SEEK_CUR) - done, bytes, done);
    if (kind == SOCKET_KIND) record('S', fd, known[fd].object, 0, 0, 0, bytes, done);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    int kind = kind_of(fd);
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    if (done <= 0) return done;
    if (kind == FILE_KIND) record('B', fd, 0, 0, "writev", 0, 0, 0);
    if (kind != SOCKET_KIND) return done;
    ssize_t left = done;
    for (int n = 0; n < count && left > 0; n++) {
        ssize_t part = (ssize_t)parts[n].iov_len < left ? (ssize_t)parts[n].iov_len : left;
        record('S', fd, known[fd].object, 0, 0, 0, parts[n].iov_base, part);
        left -= part;
    }
    return done;
}

int ftruncate64(int fd, off64_t length) {
    int done = syscall(SYS_ftruncate, fd, length);
    if (done == 0 && kind_of(fd) == FILE_KIND)
        record('T', fd, known[fd].object, length, 0, 0, 0, 0);
    return done;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int truncate64(const char *path, off64_t length) {
    if (is_within(path)) record('B', -1, 0, 0, "truncate", 0, 0, 0);
    return syscall(SYS_truncate, path, length);
}
int truncate(const char *path, off_t length) { return truncate64(path, length); }

// The record's offset is the size that the file has at least.
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    if (kind_of(fd) == FILE_KIND && fails(0)) return -1;
    int done = syscall(SYS_fallocate, fd, mode, offset, length);
    if (done != 0 || kind_of(fd) != FILE_KIND) return done;
    if (mode) record('B', fd, 0, 0, "fallocate", 0, 0, 0);
    else record('F', fd, known[fd].object, offset + length, 0, 0, 0, 0);
    return done;
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
    return fallocate64(fd, mode, offset, length);
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    return fallocate64(fd, 0, offset, length) ? errno : 0;
}
int posix_fallocate(int fd, off_t offset, off_t length) {
    return fallocate64(fd, 0, offset, length) ? errno : 0;
}

void *mmap64(void *at, size_t length, int rights, int flags, int fd, off64_t offset) {
    if (fd >= 0 && (flags & MAP_SHARED) && (rights & PROT_WRITE) && kind_of(fd) == FILE_KIND)
        record('B', fd, 0, 0, "mmap", 0, 0, 0);
    return (void *)syscall(SYS_mmap, at, length, rights, flags, fd, offset);
}
void *mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset) {
    return mmap64(at, length, rights, flags, fd, offset);
}

// Changing folders. arm64 has only the calls that begin at a folder.

int mkdir(const char *path, mode_t mode) {
    struct stat status;
    if (is_within(path) && lstat(path, &status) != 0 && fails(0)) return -1;
    int done = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (done == 0 && is_within(path) && stat(path, &status) == 0)
        record('D', -1, status.st_ino, 0, path, 0, 0, 0);
    return done;
}

int rename(const char *from, const char *to) {
    if (is_within(to) && fails(0)) return -1;
    int done = syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (done == 0 && (is_within(from) || is_within(to))) record('R', -1, 0, 0, from, to, 0, 0);
    return done;
}

int link(const char *from, const char *to) {
    if (is_within(to) && fails(0)) return -1;
    int done = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (done == 0 && (is_within(from) || is_within(to))) record('L', -1, 0, 0, from, to, 0, 0);
    return done;
}

int unlink(const char *path) {
    int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (done == 0 && is_within(path)) record('U', -1, 0, 0, path, 0, 0, 0);
    return done;
}

int unlinkat(int at, const char *path, int flags) {
    int done = syscall(SYS_unlinkat, at, path, flags);
    if (done == 0 && is_within(path)) record('U', -1, 0, 0, path, 0, 0, 0);
    return done;
}

// Syncing. The record comes after: what is durable is so once the call has returned.

static int synced(int fd, int call) {
    int kind = kind_of(fd);
    if (kind != FILE_KIND && kind != FOLDER_KIND) return syscall(call, fd);
    int done = fails(1) ? -1 : syscall(call, fd);
    record(done == 0 ? 'Y' : 'X', fd, known[fd].object, 0, 0, 0, 0, 0);
    return done;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

// Speaking and hearing.

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    uint64_t port = 0;
    if (address->sa_family == AF_INET)
        port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (address->sa_family == AF_INET6)
        port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    int done = syscall(SYS_connect, fd, address, length);
    if (log_file >= 0 && port) {
        learn(fd, SOCKET_KIND, port);
        // A new connection under an old number.
        record('N', fd, port, 0, 0, 0, 0, 0);
    }
    return done;
}

static ssize_t said(int fd, const void *bytes, ssize_t done) {
    if (done > 0 && kind_of(fd) == SOCKET_KIND)
        record('S', fd, known[fd].object, 0, 0, 0, bytes, done);
    return done;
}
static ssize_t heard(int fd, const void *bytes, ssize_t done) {
    if (done > 0 && kind_of(fd) == SOCKET_KIND && known[fd].object)
        record('G', fd, known[fd].object, 0, 0, 0, bytes, done);
    return done;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    return said(fd, bytes, syscall(SYS_sendto, fd, bytes, count, flags, NULL, 0));
}
ssize_t sendto(int fd, const void *bytes, size_t count, int flags,
               const struct sockaddr *to, socklen_t length) {
    return said(fd, bytes, syscall(SYS_sendto, fd, bytes, count, flags, to, length));
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    ssize_t done = syscall(SYS_sendmsg, fd, message, flags), left = done;
    for (size_t n = 0; n < message->msg_iovlen && left > 0; n++) {
        const struct iovec *part = &message->msg_iov[n];
        ssize_t count = (ssize_t)part->iov_len < left ? (ssize_t)part->iov_len : left;
        said(fd, part->iov_base, count);
        left -= count;
    }
    return done;
}
ssize_t read(int fd, void *bytes, size_t count) {
    return heard(fd, bytes, syscall(SYS_read, fd, bytes, count));
}
ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room) {
    if (count > room) abort();
    return read(fd, bytes, count);
}
ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    // A look ahead hears nothing.
    ssize_t done = syscall(SYS_recvfrom, fd, bytes, count, flags, NULL, NULL);
    return flags & MSG_PEEK ? done : heard(fd, bytes, done);
}
