// Buffers between a socket and a library that calls read(2) and write(2).
//
// libmosquitto reads a packet with three or four read(2) calls and writes each packet with one
// write(2) call. It has no option to change that. So this target defines the program's `read`,
// `write`, `close` and `socketpair`, and the dynamic linker binds the calls of libmosquitto and
// OpenSSL to them. For a descriptor with a buffer, they read ahead and, on request, collect writes.
// For all other descriptors they call the next definition in the linker's order.
//
// If the calls do not come here, for example from a statically linked libmosquitto, a buffer stays
// empty. It then costs only its memory, and everything works as without it.
//
// A buffer belongs to one thread. Other threads may call read, write and close on all other
// descriptors at the same time. A buffer ends when its descriptor is closed, because the number may
// then belong to another file.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Guards check the bytes that are read.
#include "packet_guard.h"

struct socket_buffer;

/// Adds a buffer to a non-blocking stream socket. NULL if memory is short, or if this descriptor
/// cannot have a buffer. The socket then works without one.
struct socket_buffer *socket_buffer_new(int descriptor);

/// Removes the buffer; its content is lost.
void socket_buffer_free(struct socket_buffer *buffer);

/// The bytes that were read ahead and not taken yet. poll(2) does not report them.
size_t socket_buffer_unread(const struct socket_buffer *buffer);

/// The bytes that the library has written and that are not sent yet.
size_t socket_buffer_unsent(const struct socket_buffer *buffer);

/// If wanted, collects later writes until the buffer is full or flushed. If not, sends later writes
/// at once, behind the collected bytes.
void socket_buffer_gather(struct socket_buffer *buffer, bool is_wanted);

/// Sends the collected bytes, as many as the socket accepts. Returns 0, or the errno of a failure.
/// A full socket is not a failure.
int socket_buffer_flush(struct socket_buffer *buffer);

/// While muted, this thread's write of one byte to a descriptor without a buffer does nothing and
/// reports success. libmosquitto writes such a byte to a socket pair, to wake a thread that does
/// not exist here. Set this only around calls into libmosquitto.
void socket_wakes_mute(bool is_wanted);

/// While withheld, `socketpair` fails for this thread with EMFILE. Set this around the call that
/// creates a libmosquitto client, if two more descriptors for each connection are too many.
void socket_pairs_withhold(bool is_wanted);
