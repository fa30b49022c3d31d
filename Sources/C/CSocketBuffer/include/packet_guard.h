// Refuses malformed MQTT before libmosquitto parses it.
//
// Before 2.0.16 some malformed packets end the process of libmosquitto, for example a property at a
// place where none is allowed. libmosquitto also allocates as many bytes as a packet announces. A
// guard sees every byte before libmosquitto does, decrypted if there is TLS. It uses the same
// method as `socket_buffer.h`. At the first byte that no broker may send, the read fails with
// EPROTO, and libmosquitto ends the connection.
//
// A guard checks the parts before a payload: types, flags, lengths and packet ids. In MQTT 5 it
// also checks which properties a packet has, how often, and with what numbers. libmosquitto itself
// checks the texts.
//
// A guard belongs to one thread, and ends when its descriptor is closed.
//
// Source: MQTT 5 §2 and §3, MQTT 3.1.1 §2 and §3.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_guard;

/// Guards all later reads from a socket. `most` is the most bytes of a packet after its length
/// field. NULL if memory is short, or if this descriptor cannot have a guard.
struct packet_guard *packet_guard_new(int descriptor, bool is_tls, bool is_v5, uint32_t most);

void packet_guard_free(struct packet_guard *guard);

/// Whether the guard has refused a byte.
bool packet_guard_has_refused(const struct packet_guard *guard);

/// Whether the reads of dynamically linked libraries reach these guards.
bool packet_guards_are_called(void);

/// Checks bytes before libmosquitto receives them. False from the first wrong byte on, for ever.
bool packet_guard_accepts(struct packet_guard *guard, const uint8_t *bytes, size_t count);
