#define _GNU_SOURCE
#include "packet_guard_table.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { descriptors = 4096 };

enum type {
    connack = 2, publish = 3, puback = 4, pubrec = 5, pubrel = 6, pubcomp = 7, suback = 9,
    unsuback = 11, pingresp = 13, disconnect = 14
};

// The part of a packet that the next byte belongs to.
enum step {
    first, length, ack_flags, topic_length, topic, packet_id, code, properties_length, property,
    byte_value, number_value, text_length, text, rest
};

struct packet_guard {
    int descriptor;
    // A forked child has a copy of the guard. A close in the child must not end the guard here.
    pid_t process;
    bool is_tls, is_v5, has_refused;
    uint32_t most;
    uint8_t step, type, qos;
    // The bytes that are left: of the packet, of its properties, of a text. `count`: of a number.
    uint32_t left, properties, skip;
    uint8_t count;
    // The value of a number so far, and the number of bits read of a variable one.
    uint32_t number;
    uint8_t bits;
    uint8_t id, texts;
    // One bit for each property that was seen.
    uint64_t seen;
};

// Indexed by descriptor. Only the owner's thread follows a pointer.
static _Atomic(struct packet_guard *) guards[descriptors];
// The number of guards with TLS. While it is 0, SSL_read costs other callers only one look.
static atomic_int tls_guards;

// Properties.

#define BIT(id) (UINT64_C(1) << (id))

// The properties that a packet of each type may have. Source: MQTT 5 §2.2.2.2.
static uint64_t allowed(uint8_t type) {
    const uint64_t told = BIT(0x1F) | BIT(0x26);
    switch (type) {
    case connack:
        return told | BIT(0x11) | BIT(0x12) | BIT(0x13) | BIT(0x15) | BIT(0x16) | BIT(0x1A)
            | BIT(0x1C) | BIT(0x21) | BIT(0x22) | BIT(0x24) | BIT(0x25) | BIT(0x27) | BIT(0x28)
            | BIT(0x29) | BIT(0x2A);
    case publish:
        return BIT(0x01) | BIT(0x02) | BIT(0x03) | BIT(0x08) | BIT(0x09) | BIT(0x0B) | BIT(0x23)
            | BIT(0x26);
    case disconnect: return told | BIT(0x11) | BIT(0x1C);
    default: return told;
    }
}

// Expects a number of `count` bytes next, or a variable one that shows its own end.
static void expect(struct packet_guard *guard, enum step step, uint8_t count) {
    guard->step = step;
    guard->count = count;
    guard->number = 0;
    guard->bits = 0;
}

static bool begin_property(struct packet_guard *guard, uint8_t id) {
    if (id >= 64 || !(allowed(guard->type) & BIT(id))) return false;
    // Only a user property and a subscription identifier may be repeated.
    if (guard->seen & BIT(id) && id != 0x26 && id != 0x0B) return false;
    guard->seen |= BIT(id);
    guard->id = id;
    guard->texts = id == 0x26 ? 2 : 1;
    switch (id) {
    case 0x01: case 0x24: case 0x25: case 0x28: case 0x29: case 0x2A:
        expect(guard, byte_value, 0); break;
    case 0x13: case 0x21: case 0x22: case 0x23: expect(guard, number_value, 2); break;
    case 0x02: case 0x11: case 0x27: expect(guard, number_value, 4); break;
    case 0x0B: expect(guard, number_value, 0); break;
    default: expect(guard, text_length, 2);
    }
    return true;
}

// Packets.

static bool end_packet(struct packet_guard *guard) {
    guard->step = first;
    return guard->left == 0;
}

static bool begin_packet(struct packet_guard *guard, uint8_t byte) {
    uint8_t flags = byte & 0x0F;
    guard->type = byte >> 4;
    guard->seen = 0;
    expect(guard, length, 0);
    switch (guard->type) {
    case publish:
        guard->qos = (flags >> 1) & 3;
        // A message of QoS 0 must not have the DUP flag.
        return guard->qos != 3 && !(guard->qos == 0 && flags & 8);
    case pubrel: return flags == 2;
    case connack: case puback: case pubrec: case pubcomp: case suback: case unsuback: case pingresp:
        return flags == 0;
    case disconnect: return flags == 0 && guard->is_v5;
    default: return false;
    }
}

static bool begin_body(struct packet_guard *guard) {
    if (guard->left > guard->most) return false;
    switch (guard->type) {
    case connack: expect(guard, ack_flags, 0); return guard->left >= 2;
    case publish: expect(guard, topic_length, 2); return guard->left >= 2;
    case pingresp: return end_packet(guard);
    case disconnect:
        if (guard->left == 0) return end_packet(guard);
        expect(guard, code, 0);
        return true;
    default: expect(guard, packet_id, 2); return guard->left >= 2;
    }
}

static bool end_properties(struct packet_guard *guard) {
    switch (guard->type) {
    case publish: break;
    case suback: case unsuback:
        if (guard->left == 0) return false;
        break;
    default: return end_packet(guard);
    }
    guard->step = rest;
    return guard->left > 0 || end_packet(guard);
}

static bool begin_properties(struct packet_guard *guard) {
    if (!guard->is_v5) {
        // In 3.1.1 an UNSUBACK has no codes, and an acknowledgement has only its id.
        if (guard->type == unsuback) return end_packet(guard);
        return end_properties(guard);
    }
    expect(guard, properties_length, 0);
    return guard->left > 0;
}

static bool next_property(struct packet_guard *guard) {
    guard->step = property;
    return guard->properties > 0 || end_properties(guard);
}

static bool end_packet_id(struct packet_guard *guard) {
    if (guard->number == 0) return false;
    switch (guard->type) {
    case publish: case suback: case unsuback: return begin_properties(guard);
    default:
        if (guard->left == 0) return end_packet(guard);
        expect(guard, code, 0);
        return guard->is_v5;
    }
}

static bool end_text(struct packet_guard *guard) {
    if (guard->step == topic) {
        if (guard->qos == 0) return begin_properties(guard);
        expect(guard, packet_id, 2);
        return true;
    }
    if (--guard->texts == 0) return next_property(guard);
    expect(guard, text_length, 2);
    return true;
}

static bool begin_text(struct packet_guard *guard, enum step step) {
    guard->skip = guard->number;
    guard->step = step;
    uint32_t room = step == topic ? guard->left : guard->properties;
    if (guard->skip > room) return false;
    return guard->skip > 0 || end_text(guard);
}

// Whether the number has more bytes: 1 yes, 0 no, -1 malformed.
static int take_variable(struct packet_guard *guard, uint8_t byte) {
    guard->number |= (uint32_t)(byte & 0x7F) << guard->bits;
    guard->bits += 7;
    if (byte & 0x80) return guard->bits < 28 ? 1 : -1;
    // The number must use as few bytes as possible. Source: MQTT 5 §1.5.5.
    return byte == 0 && guard->bits > 7 ? -1 : 0;
}

static bool has_more(struct packet_guard *guard, uint8_t byte) {
    guard->number = guard->number << 8 | byte;
    return --guard->count > 0;
}

static bool end_number(struct packet_guard *guard) {
    // Receive maximum, topic alias, maximum packet size and subscription identifier must not be 0.
    bool may_be_zero = guard->id != 0x21 && guard->id != 0x23 && guard->id != 0x27
        && guard->id != 0x0B;
    return (guard->number != 0 || may_be_zero) && next_property(guard);
}

static bool take_length(struct packet_guard *guard, uint8_t byte) {
    int more = take_variable(guard, byte);
    if (more) return more > 0;
    guard->left = guard->number;
    return begin_body(guard);
}

static bool take_properties_length(struct packet_guard *guard, uint8_t byte) {
    int more = take_variable(guard, byte);
    if (more) return more > 0 && guard->left > 0;
    if (guard->number > guard->left) return false;
    guard->properties = guard->number;
    return next_property(guard);
}

static bool take_number(struct packet_guard *guard, uint8_t byte) {
    if (guard->id == 0x0B) {
        int more = take_variable(guard, byte);
        return more ? more > 0 : end_number(guard);
    }
    return has_more(guard, byte) || end_number(guard);
}

static bool take_code(struct packet_guard *guard) {
    // A 3.1.1 broker answers an MQTT 5 CONNECT with a CONNACK of its own version.
    if (guard->left == 0) return end_packet(guard);
    return guard->is_v5 && begin_properties(guard);
}

static bool take(struct packet_guard *guard, uint8_t byte) {
    if (guard->step == first) return begin_packet(guard, byte);
    if (guard->step == length) return take_length(guard, byte);
    if (guard->left == 0) return false;
    guard->left--;
    if (guard->step >= property && guard->step <= text_length) {
        if (guard->properties == 0) return false;
        guard->properties--;
    }
    switch (guard->step) {
    case ack_flags: expect(guard, code, 0); return byte <= 1;
    case code: return take_code(guard);
    case topic_length: return has_more(guard, byte) || begin_text(guard, topic);
    case packet_id: return has_more(guard, byte) || end_packet_id(guard);
    case properties_length: return take_properties_length(guard, byte);
    case property: return begin_property(guard, byte);
    case byte_value: return byte <= 1 && next_property(guard);
    case number_value: return take_number(guard, byte);
    case text_length: return has_more(guard, byte) || begin_text(guard, text);
    default: return false;
    }
}

// Skips the parts that are not checked: topics, texts, payloads and the codes of a SUBACK.
static bool pass(struct packet_guard *guard, size_t *at, size_t count) {
    uint32_t wanted = guard->step == rest ? guard->left : guard->skip;
    size_t taken = count - *at < wanted ? count - *at : wanted;
    *at += taken;
    guard->left -= (uint32_t)taken;
    if (guard->step == rest) return guard->left > 0 || end_packet(guard);
    if (guard->step == text) guard->properties -= (uint32_t)taken;
    guard->skip -= (uint32_t)taken;
    return guard->skip > 0 || end_text(guard);
}

bool packet_guard_accepts(struct packet_guard *guard, const uint8_t *bytes, size_t count) {
    size_t at = 0;
    while (!guard->has_refused && at < count) {
        bool is_passed = guard->step == rest || guard->step == text || guard->step == topic;
        bool is_fine = is_passed ? pass(guard, &at, count) : take(guard, bytes[at++]);
        // A packet must not end before its last part is complete.
        bool is_cut = guard->left == 0 && guard->step > length;
        if (!is_fine || is_cut) guard->has_refused = true;
    }
    return !guard->has_refused;
}

// The table.

static struct packet_guard *guard_of(int descriptor) {
    if (descriptor < 0 || descriptor >= descriptors) return NULL;
    return atomic_load_explicit(&guards[descriptor], memory_order_acquire);
}

struct packet_guard *packet_guard_new(int descriptor, bool is_tls, bool is_v5, uint32_t most) {
    if (descriptor < 0 || descriptor >= descriptors || guard_of(descriptor)) return NULL;
    struct packet_guard *guard = calloc(1, sizeof *guard);
    if (!guard) return NULL;
    guard->descriptor = descriptor;
    guard->process = getpid();
    guard->is_tls = is_tls;
    guard->is_v5 = is_v5;
    guard->most = most;
    if (is_tls) atomic_fetch_add(&tls_guards, 1);
    atomic_store_explicit(&guards[descriptor], guard, memory_order_release);
    return guard;
}

// The descriptor may have another owner by now, so only this guard is removed.
static void remove_guard(struct packet_guard *guard) {
    struct packet_guard *expected = guard;
    bool is_there = atomic_compare_exchange_strong(&guards[guard->descriptor], &expected, NULL);
    if (is_there && guard->is_tls) atomic_fetch_sub(&tls_guards, 1);
}

void packet_guard_free(struct packet_guard *guard) {
    remove_guard(guard);
    free(guard);
}

bool packet_guard_has_refused(const struct packet_guard *guard) { return guard->has_refused; }

static ssize_t judged(struct packet_guard *guard, const void *bytes, ssize_t found) {
    if (found <= 0 || packet_guard_accepts(guard, bytes, (size_t)found)) return found;
    errno = EPROTO;
    return -1;
}

ssize_t packet_guard_judge(int descriptor, const void *bytes, ssize_t found) {
    struct packet_guard *guard = guard_of(descriptor);
    return guard && !guard->is_tls ? judged(guard, bytes, found) : found;
}

void packet_guard_forget(int descriptor) {
    struct packet_guard *guard = guard_of(descriptor);
    if (guard && guard->process == getpid()) remove_guard(guard);
}

// Behind TLS.

typedef int (*tls_reader)(void *, void *, int);
extern int SSL_get_fd(const void *);

// Hides OpenSSL's SSL_read. If the count is negative and OpenSSL waits for nothing, libmosquitto
// takes that as a failure.
__attribute__((visibility("default")))
int SSL_read(void *connection, void *bytes, int count) {
    static _Atomic(tls_reader) known;
    tls_reader next = atomic_load_explicit(&known, memory_order_relaxed);
    if (!next) {
        next = (tls_reader)dlsym(RTLD_NEXT, "SSL_read");
        atomic_store_explicit(&known, next, memory_order_relaxed);
    }
    int found = next ? next(connection, bytes, count) : -1;
    if (found <= 0 || atomic_load_explicit(&tls_guards, memory_order_relaxed) == 0) return found;
    struct packet_guard *guard = guard_of(SSL_get_fd(connection));
    return guard && guard->is_tls ? (int)judged(guard, bytes, found) : found;
}

bool packet_guards_are_called(void) {
    return dlsym(RTLD_DEFAULT, "read") == (void *)read
        && dlsym(RTLD_DEFAULT, "SSL_read") == (void *)SSL_read;
}
