#define _GNU_SOURCE
#include "mqtt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024, PATIENCE_MS = 10 * 1000 };

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

// Buffers: bytes between begin and end; what is free before begin is used again.

static uint8_t *room(Buffer *buffer, size_t wanted) {
    if (buffer->begin == buffer->end) buffer->begin = buffer->end = 0;
    if (buffer->capacity - buffer->end >= wanted) return buffer->bytes + buffer->end;
    size_t held = buffer->end - buffer->begin;
    if (held) memmove(buffer->bytes, buffer->bytes + buffer->begin, held);
    buffer->begin = 0;
    buffer->end = held;
    if (buffer->capacity - held < wanted) {
        buffer->capacity = (held + wanted) * 2;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes) fail("out of memory");
    }
    return buffer->bytes + held;
}

static uint8_t *put_number(uint8_t *at, size_t value) {
    do {
        uint8_t low = value & 0x7f;
        value >>= 7;
        *at++ = low | (value ? 0x80 : 0);
    } while (value);
    return at;
}

static uint8_t *put_u16(uint8_t *at, uint16_t value) {
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static uint8_t *put_text(uint8_t *at, const char *text) {
    size_t length = strlen(text);
    at = put_u16(at, (uint16_t)length);
    memcpy(at, text, length);
    return at + length;
}

static uint16_t u16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

/// The number that begins at `*at`, at most four bytes; SIZE_MAX when it is not all there.
static size_t take_number(const uint8_t **at, const uint8_t *end) {
    size_t value = 0;
    for (int shift = 0; shift < 28 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (size_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    return SIZE_MAX;
}

// The socket.

static int dial_unix(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path) fail("%s: too long for a socket", path);
    strcpy(name.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof name))
        fail("%s: %s", path, strerror(errno));
    return fd;
}

static int dial_tcp(const char *address) {
    char host[64];
    const char *colon = strrchr(address, ':');
    if (!colon || (size_t)(colon - address) >= sizeof host) fail("%s: no host:port", address);
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = 0;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
    if (inet_pton(AF_INET, host, &name.sin_addr) != 1) fail("%s: no IPv4 address", host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof name))
        fail("%s: %s", address, strerror(errno));
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/// Waits for a packet of this type; others are passed over.
static void await(Link *link, int type, Packet *packet) {
    link_write(link);
    for (;;) {
        while (link_next(link, packet))
            if (packet->type == type) return;
        struct pollfd wait = {link->fd, POLLIN, 0};
        if (poll(&wait, 1, PATIENCE_MS) <= 0) fail("the broker does not answer");
        link_read(link);
    }
}

/// The Receive Maximum, which stands among properties of known lengths.
/// Source: MQTT 5, 3.2.2.3.
static void read_limits(Link *link, const Packet *packet) {
    const uint8_t *end = packet->body + packet->length, *next = packet->body + 2;
    for (take_number(&next, end); next + 3 <= end;) {
        if (*next == 0x21) link->receive_maximum = u16(next + 1);
        switch (*next) {
            case 0x24: case 0x25: case 0x28: case 0x29: case 0x2a: next += 2; break;
            case 0x21: case 0x22: case 0x13: next += 3; break;
            case 0x11: case 0x27: next += 5; break;
            default: next += 3 + u16(next + 1);
        }
    }
}

void link_open(Link *link, MQTTVersion version, const char *address, const char *client) {
    *link = (Link){.version = version, .receive_maximum = 65535};
    link->fd = address[0] == '/' ? dial_unix(address) : dial_tcp(address);
    fcntl(link->fd, F_SETFL, O_NONBLOCK);
    // Clean start, no keep-alive, no properties. Source: MQTT 5, 3.1.
    const uint8_t head[] = {0, 4, 'M', 'Q', 'T', 'T', (uint8_t)version, 0x02, 0, 0, 0};
    size_t head_length = sizeof head - (version == MQTT_5 ? 0 : 1);
    size_t length = head_length + 2 + strlen(client);
    uint8_t *begin = room(&link->out, length + 5), *at = begin;
    *at++ = 0x10;
    at = put_number(at, length);
    memcpy(at, head, head_length);
    at = put_text(at + head_length, client);
    link->out.end += (size_t)(at - begin);
    Packet packet;
    await(link, CONNACK, &packet);
    if (packet.length < 2 || packet.body[1]) fail("%s: refused", address);
    if (version == MQTT_5) read_limits(link, &packet);
}

void link_subscribe(Link *link, const char *filter) {
    size_t has_properties = link->version == MQTT_5;
    size_t length = 2 + has_properties + 2 + strlen(filter) + 1;
    uint8_t *begin = room(&link->out, length + 5), *at = begin;
    *at++ = 0x82;
    at = put_number(at, length);
    at = put_u16(at, 1);
    if (has_properties) *at++ = 0;
    at = put_text(at, filter);
    // QoS 1; retain handling 2: none is sent. Source: MQTT 5, 3.8.3.1.
    *at++ = has_properties ? 0x21 : 0x01;
    link->out.end += (size_t)(at - begin);
    Packet packet;
    await(link, SUBACK, &packet);
    if (packet.body[packet.length - 1] >= 0x80) fail("%s may not be read", filter);
}

void link_publish(Link *link, const Publication *message) {
    const char *response = message->response_topic;
    size_t has_properties = link->version == MQTT_5;
    size_t properties = response ? 3 + strlen(response) : 0;
    if (properties > 127 || (response && !has_properties)) fail("no response topic can be given");
    size_t length = 2 + strlen(message->topic) + 2 + has_properties + properties + message->length;
    uint8_t *begin = room(&link->out, length + 5), *at = begin;
    *at++ = 0x32;
    at = put_number(at, length);
    at = put_text(at, message->topic);
    if (++link->last_id == 0) link->last_id = 1;
    at = put_u16(at, link->last_id);
    if (has_properties) *at++ = (uint8_t)properties;
    if (response) {
        *at++ = 0x08;
        at = put_text(at, response);
    }
    memcpy(at, message->payload, message->length);
    link->out.end += (size_t)(at - begin) + message->length;
    link->unacknowledged++;
}

void link_write(Link *link) {
    while (link_has_output(link)) {
        size_t length = link->out.end - link->out.begin;
        ssize_t sent = send(link->fd, link->out.bytes + link->out.begin, length, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) fail("write: %s", strerror(errno));
        link->out.begin += (size_t)sent;
    }
}

void link_read(Link *link) {
    uint8_t *at = room(&link->in, READ_SIZE);
    ssize_t got = recv(link->fd, at, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) fail("read: %s", strerror(errno));
    if (got == 0) fail("the broker has closed the connection");
    link->in.end += (size_t)got;
}

bool link_next(Link *link, Packet *packet) {
    const uint8_t *begin = link->in.bytes + link->in.begin, *end = link->in.bytes + link->in.end;
    if (end - begin < 2) return false;
    const uint8_t *at = begin + 1;
    size_t length = take_number(&at, end);
    if (length == SIZE_MAX || (size_t)(end - at) < length) return false;
    *packet = (Packet){begin[0] >> 4, begin[0] & 0x0f, at, length};
    link->in.begin += (size_t)(at + length - begin);
    if (packet->type == DISCONNECT) fail("the broker disconnects: %d", length ? at[0] : 0);
    if (packet->type == PUBACK && link->unacknowledged) {
        link->unacknowledged--;
        if (length > 2 && at[2] >= 0x80) fail("a publication is refused: %d", at[2]);
    }
    return true;
}

void link_take(Link *link, const Packet *packet, Arrival *arrival) {
    const uint8_t *end = packet->body + packet->length;
    const uint8_t *at = packet->body;
    if (end - at < 2 || end - at < 2 + u16(at)) fail("a broken PUBLISH");
    at += 2 + u16(at);
    if (packet->flags & 0x06) {
        if (end - at < 2) fail("a broken PUBLISH");
        uint8_t *acknowledgement = room(&link->out, 4);
        memcpy(acknowledgement, (uint8_t[]){0x40, 2, at[0], at[1]}, 4);
        link->out.end += 4;
        at += 2;
    }
    size_t properties = link->version == MQTT_5 ? take_number(&at, end) : 0;
    if (properties == SIZE_MAX || properties > (size_t)(end - at)) fail("a broken PUBLISH");
    at += properties;
    *arrival = (Arrival){at, (size_t)(end - at), packet->flags & 0x08};
}
