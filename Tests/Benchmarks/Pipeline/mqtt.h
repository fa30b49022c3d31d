// A connection that speaks as much MQTT as a load needs, and spends little on it.
#ifndef PIPELINE_MQTT_H
#define PIPELINE_MQTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Packet types, as they stand in the upper half of a packet's first byte.
enum { CONNACK = 2, PUBLISH = 3, PUBACK = 4, SUBACK = 9, DISCONNECT = 14 };

/// As CONNECT has them. In 3.1.1 no Receive Maximum holds up a program that publishes.
typedef enum { MQTT_3_1_1 = 4, MQTT_5 = 5 } MQTTVersion;

typedef struct {
    uint8_t *bytes;
    size_t begin, end, capacity;
} Buffer;

typedef struct {
    int fd;
    MQTTVersion version;
    Buffer in, out;
    /// What the broker takes unacknowledged.
    uint32_t receive_maximum;
    uint16_t last_id;
    /// QoS 1 publications without a PUBACK.
    uint32_t unacknowledged;
} Link;

typedef struct {
    int type;
    uint8_t flags;
    const uint8_t *body;
    size_t length;
} Packet;

/// What arrived: the payload stands in the connection's buffer until the next read.
typedef struct {
    const uint8_t *payload;
    size_t length;
    bool is_again;
} Arrival;

typedef struct {
    const char *topic;
    const uint8_t *payload;
    size_t length;
    /// Where the outcome is to be answered, or NULL; in MQTT 5 alone.
    const char *response_topic;
} Publication;

/// Ends the program with status 1 and these words.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/// Connects to "host:port" (IPv4) or to the Unix socket whose path begins with '/', with a
/// clean start; returns after the CONNACK. Fails the program otherwise.
void link_open(Link *link, MQTTVersion version, const char *address, const char *client);

/// Subscribes at QoS 1, in MQTT 5 without retained messages; returns after the SUBACK.
void link_subscribe(Link *link, const char *filter);

/// Queues a QoS 1 publication.
void link_publish(Link *link, const Publication *publication);

/// Writes what is queued, as far as the socket takes it.
void link_write(Link *link);

/// Reads once what the socket has. Fails the program when the broker has closed.
void link_read(Link *link);

/// The next whole packet of what was read; false when there is none.
bool link_next(Link *link, Packet *packet);

/// Reads a PUBLISH and queues its PUBACK.
void link_take(Link *link, const Packet *packet, Arrival *arrival);

static inline bool link_has_output(const Link *link) { return link->out.end > link->out.begin; }

#endif
