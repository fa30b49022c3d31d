// Refuses malformed MQTT before libmosquitto parses it.
//
// libmosquitto before 2.0.16 ends the process at some malformed packets (a property where none
// may be is one), and any of them allocates as many bytes as a packet says it has. A guard sees
// every byte that goes to libmosquitto, behind TLS where there is TLS, by the same means as
// `socket_buffer.h`. At the first byte that no broker may send, the read fails with EPROTO, and
// libmosquitto ends the connection as it does after any failure.
//
// It judges what stands before a payload: types, flags, lengths, packet ids, and of MQTT 5 which
// property may stand where, how often and with what number. Texts are libmosquitto's to judge.
//
// A guard belongs to one thread, and ends when its descriptor is closed.
//
// Source: MQTT 5 §2 and §3, MQTT 3.1.1 §2 and §3.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_guard;

/// Guards what a client reads from a socket from now on. `most` is how many bytes a packet may
/// have after its first ones. NULL without memory, or when the descriptor can have none.
struct packet_guard *packet_guard_new(int descriptor, bool is_tls, bool is_v5, uint32_t most);

void packet_guard_free(struct packet_guard *guard);

/// Whether something was refused.
bool packet_guard_has_refused(const struct packet_guard *guard);

/// Whether libraries that are linked dynamically come by here when they read.
bool packet_guards_are_called(void);

/// What libmosquitto is about to be given. False from the first byte that is wrong, for ever.
bool packet_guard_accepts(struct packet_guard *guard, const uint8_t *bytes, size_t count);
