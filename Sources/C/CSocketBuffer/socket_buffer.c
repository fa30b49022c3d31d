#define _GNU_SOURCE
#include "packet_guard_table.h"
#include "socket_buffer.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Room for some hundred packets. A larger buffer saves nothing measurable.
enum { capacity = 16 * 1024, descriptors = 4096 };

struct socket_buffer {
    int descriptor;
    // A forked child has a copy of the buffer and must not send its content.
    pid_t process;
    bool is_gathering;
    // The bytes read ahead are in input[input_start ..< input_end].
    size_t input_start, input_end;
    size_t output_start, output_end;
    char input[capacity];
    char output[capacity];
};

// Indexed by descriptor. All threads look up an entry, but only the owner's thread uses it.
static _Atomic(struct socket_buffer *) buffers[descriptors];
static _Thread_local bool is_muted;
static _Thread_local bool is_withheld;

typedef ssize_t (*reader)(int, void *, size_t);
typedef ssize_t (*writer)(int, const void *, size_t);
typedef int (*closer)(int);

// The next functions of the same name: libc's, or those of a preloaded library. They are looked up
// at the first call, which may come from a library's initialiser. If the linker finds none, a
// system call is used.
static _Atomic(reader) known_read;
static _Atomic(writer) known_write;
static _Atomic(closer) known_close;

static ssize_t raw_read(int descriptor, void *bytes, size_t count) {
    return syscall(SYS_read, descriptor, bytes, count);
}

static ssize_t raw_write(int descriptor, const void *bytes, size_t count) {
    return syscall(SYS_write, descriptor, bytes, count);
}

static int raw_close(int descriptor) { return (int)syscall(SYS_close, descriptor); }

static reader next_read(void) {
    reader next = atomic_load_explicit(&known_read, memory_order_relaxed);
    if (next) return next;
    next = (reader)dlsym(RTLD_NEXT, "read");
    if (!next) next = raw_read;
    atomic_store_explicit(&known_read, next, memory_order_relaxed);
    return next;
}

static writer next_write(void) {
    writer next = atomic_load_explicit(&known_write, memory_order_relaxed);
    if (next) return next;
    next = (writer)dlsym(RTLD_NEXT, "write");
    if (!next) next = raw_write;
    atomic_store_explicit(&known_write, next, memory_order_relaxed);
    return next;
}

static closer next_close(void) {
    closer next = atomic_load_explicit(&known_close, memory_order_relaxed);
    if (next) return next;
    next = (closer)dlsym(RTLD_NEXT, "close");
    if (!next) next = raw_close;
    atomic_store_explicit(&known_close, next, memory_order_relaxed);
    return next;
}

// Runs before a second thread or a signal handler can make the first call.
__attribute__((constructor)) static void find_next(void) {
    next_read();
    next_write();
    next_close();
}

static struct socket_buffer *buffer_of(int descriptor) {
    if (descriptor < 0 || descriptor >= descriptors) return NULL;
    return atomic_load_explicit(&buffers[descriptor], memory_order_acquire);
}

struct socket_buffer *socket_buffer_new(int descriptor) {
    if (descriptor < 0 || descriptor >= descriptors || buffer_of(descriptor)) return NULL;
    struct socket_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer) return NULL;
    buffer->descriptor = descriptor;
    buffer->process = getpid();
    buffer->is_gathering = false;
    buffer->input_start = buffer->input_end = 0;
    buffer->output_start = buffer->output_end = 0;
    atomic_store_explicit(&buffers[descriptor], buffer, memory_order_release);
    return buffer;
}

// The descriptor may have another owner by now, so only this buffer is removed.
static void remove_buffer(struct socket_buffer *buffer) {
    struct socket_buffer *expected = buffer;
    atomic_compare_exchange_strong(&buffers[buffer->descriptor], &expected, NULL);
}

void socket_buffer_free(struct socket_buffer *buffer) {
    remove_buffer(buffer);
    // A CONNECT with its password may have been in the buffer.
    explicit_bzero(buffer, sizeof *buffer);
    free(buffer);
}

size_t socket_buffer_unread(const struct socket_buffer *buffer) {
    return buffer->input_end - buffer->input_start;
}

size_t socket_buffer_unsent(const struct socket_buffer *buffer) {
    return buffer->output_end - buffer->output_start;
}

void socket_buffer_gather(struct socket_buffer *buffer, bool is_wanted) {
    buffer->is_gathering = is_wanted;
}

int socket_buffer_flush(struct socket_buffer *buffer) {
    // The descriptor was closed: its number may belong to another file now.
    if (buffer_of(buffer->descriptor) != buffer) return 0;
    while (socket_buffer_unsent(buffer) > 0) {
        ssize_t count = next_write()(
            buffer->descriptor, buffer->output + buffer->output_start,
            socket_buffer_unsent(buffer));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
        buffer->output_start += (size_t)count;
    }
    buffer->output_start = buffer->output_end = 0;
    return 0;
}

void socket_wakes_mute(bool is_wanted) { is_muted = is_wanted; }
void socket_pairs_withhold(bool is_wanted) { is_withheld = is_wanted; }

// These definitions hide libc's and behave like them. A count may be short, 0 is the end of the
// stream, and -1 with EAGAIN means not now.

static ssize_t buffered_read(int descriptor, void *bytes, size_t count) {
    struct socket_buffer *buffer = buffer_of(descriptor);
    if (!buffer) return next_read()(descriptor, bytes, count);
    if (socket_buffer_unread(buffer) == 0) {
        // A large read goes straight to the caller's memory, without a copy.
        if (count >= capacity) return next_read()(descriptor, bytes, count);
        ssize_t found = next_read()(descriptor, buffer->input, capacity);
        if (found <= 0) return found;
        buffer->input_start = 0;
        buffer->input_end = (size_t)found;
    }
    size_t unread = socket_buffer_unread(buffer);
    size_t taken = count < unread ? count : unread;
    memcpy(bytes, buffer->input + buffer->input_start, taken);
    buffer->input_start += taken;
    return (ssize_t)taken;
}

__attribute__((visibility("default")))
ssize_t read(int descriptor, void *bytes, size_t count) {
    return packet_guard_judge(descriptor, bytes, buffered_read(descriptor, bytes, count));
}

__attribute__((visibility("default")))
ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct socket_buffer *buffer = buffer_of(descriptor);
    if (!buffer) {
        if (count == 1 && is_muted) return 1;
        return next_write()(descriptor, bytes, count);
    }
    size_t room = capacity - buffer->output_end;
    if (!buffer->is_gathering || count > room) {
        int failure = socket_buffer_flush(buffer);
        if (failure) {
            errno = failure;
            return -1;
        }
        if (socket_buffer_unsent(buffer) > 0) {
            // Waiting bytes go first. Behind them there is room for a part of the new bytes, or for
            // none.
            if (!buffer->is_gathering || buffer->output_end == capacity) {
                errno = EAGAIN;
                return -1;
            }
        } else if (!buffer->is_gathering || count >= capacity) {
            return next_write()(descriptor, bytes, count);
        }
        room = capacity - buffer->output_end;
    }
    size_t taken = count < room ? count : room;
    memcpy(buffer->output + buffer->output_end, bytes, taken);
    buffer->output_end += taken;
    return (ssize_t)taken;
}

__attribute__((visibility("default")))
int close(int descriptor) {
    struct socket_buffer *buffer = buffer_of(descriptor);
    if (buffer && buffer->process == getpid()) remove_buffer(buffer);
    packet_guard_forget(descriptor);
    return next_close()(descriptor);
}

__attribute__((visibility("default")))
int socketpair(int domain, int type, int protocol, int descriptors_out[2]) {
    if (!is_withheld) return (int)syscall(SYS_socketpair, domain, type, protocol, descriptors_out);
    errno = EMFILE;
    return -1;
}
