// Buffers between a library that calls read(2) and write(2) and a socket of its own.
//
// libmosquitto reads a packet with three or four calls of read(2) and writes each packet with
// one of write(2); nothing in its interface changes that. This target defines `read`, `write`,
// `close` and `socketpair` of the program: the dynamic linker binds libmosquitto's calls (and
// OpenSSL's) to them. For a descriptor that has a buffer they read ahead and, while asked to,
// gather what is written. For all others they call what they hide, the next definition in the
// linker's order.
//
// Where the calls do not come here (a libmosquitto that is linked statically, say), a buffer
// stays empty and costs nothing but its memory: all works as without it.
//
// A buffer belongs to one thread. Other threads may call read, write and close on all other
// descriptors meanwhile. A buffer ends when its descriptor is closed: the number may be given
// to another file the moment after.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// What is read is judged on its way.
#include "packet_guard.h"

struct socket_buffer;

/// Puts a buffer before a non-blocking stream socket. NULL without memory, or when the
/// descriptor is one of the few that can have none: then it is used without.
struct socket_buffer *socket_buffer_new(int descriptor);

/// Takes it away; what it holds is lost.
void socket_buffer_free(struct socket_buffer *buffer);

/// Bytes that were read ahead and not taken yet. No poll tells of them.
size_t socket_buffer_unread(const struct socket_buffer *buffer);

/// Bytes that were written by the library and not sent yet.
size_t socket_buffer_unsent(const struct socket_buffer *buffer);

/// From now on what is written is gathered, until there is no more room or a flush; or is
/// written at once, behind what was gathered before.
void socket_buffer_gather(struct socket_buffer *buffer, bool is_wanted);

/// Sends what was gathered, as far as the socket takes it. 0, or the errno of a failure; that
/// the socket takes no more now is none.
int socket_buffer_flush(struct socket_buffer *buffer);

/// While muted, one byte written by this thread to a descriptor without a buffer goes nowhere,
/// and the call says that it was written. So libmosquitto writes to the socket pair by which it
/// wakes a thread that nobody runs here. To be set around calls into it only.
void socket_wakes_mute(bool is_wanted);

/// While withheld, `socketpair` fails for this thread with EMFILE. To be set around the call by
/// which libmosquitto makes a client, where each connection's two descriptors would be too many.
void socket_pairs_withhold(bool is_wanted);
