// Declarations that Swift's Glibc module does not have: further headers, and functions that glibc
// declares only under _GNU_SOURCE. The only code here wraps the variadic prctl and ioctl, and
// epoll's events, whose union is unsafe in Swift.
#pragma once
#include <malloc.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

struct sockaddr;
extern int accept4(int, struct sockaddr *, unsigned int *, int);

struct peer_credentials { int32_t process; uint32_t user; uint32_t group; };

static inline int set_dumpable(int is_dumpable) {
    return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0);
}

static inline int ask_device(int device, unsigned long request, void *message) {
    return ioctl(device, request, message);
}

static inline int set_thread_name(const char *name) {
    return prctl(PR_SET_NAME, name, 0, 0, 0);
}

static inline int watch_descriptor(
    int queue, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(queue, operation, descriptor, &event);
}

// Waits and writes the tokens of the ready descriptors, at most 256.
static inline int await_descriptors(int queue, uint64_t *tokens, int room, int timeout) {
    struct epoll_event events[256];
    int count = epoll_wait(queue, events, room < 256 ? room : 256, timeout);
    for (int index = 0; index < count; index++) tokens[index] = events[index].data.u64;
    return count;
}
