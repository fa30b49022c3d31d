// The least that an authority could do: it answers each request with a payload of the size
// that a reply has, and looks at nothing. What it costs is what broker and sockets cost.
//
//     echo PORT ROOT SIZE
//
// Reads ROOT/+/outbox at QoS 1 and publishes SIZE bytes to ROOT/<board>/inbox at QoS 1, as the
// authority does; the first 32 bytes are the request's, so that the asker knows its answer.
// Says "ready" once it is subscribed.

#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 32, MOST = 4096, TOPIC = 256 };

static char filter[TOPIC];
static int size;

static void fail(const char *what, int code) {
    fprintf(stderr, "echo: %s: %s\n", what, mosquitto_strerror(code));
    exit(1);
}

static void on_connect(struct mosquitto *client, void *user, int code) {
    (void)user;
    if (code) fail("connect", code);
    int failed = mosquitto_subscribe(client, NULL, filter, 1);
    if (failed) fail("subscribe", failed);
}

static void on_subscribe(struct mosquitto *client, void *user, int id, int count,
                         const int *granted) {
    (void)client, (void)user, (void)id, (void)count, (void)granted;
    puts("ready");
    fflush(stdout);
}

static void on_message(struct mosquitto *client, void *user,
                       const struct mosquitto_message *message) {
    (void)user;
    static char answer[MOST];
    char topic[TOPIC];
    size_t length = strlen(message->topic), suffix = strlen("outbox");
    if (length + 1 > sizeof topic || length < suffix || message->payloadlen < NAME) return;
    memcpy(topic, message->topic, length - suffix);
    strcpy(topic + length - suffix, "inbox");
    memcpy(answer, message->payload, NAME);
    int failed = mosquitto_publish(client, NULL, topic, size, answer, 1, false);
    if (failed) fail("publish", failed);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    snprintf(filter, sizeof filter, "%s/+/outbox", words[2]);
    size = atoi(words[3]);
    if (size < NAME || size > MOST) return 2;
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new("echo", true, NULL);
    if (!client) return 1;
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 1024);
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_callback_set(client, on_message);
    int failed = mosquitto_connect(client, "127.0.0.1", atoi(words[1]), 60);
    if (failed) fail("connect", failed);
    failed = mosquitto_loop_forever(client, -1, 1);
    fail("the connection", failed);
}
