// The load on the echo: as many boards' topics, payloads of a request's size, the same number in
// flight, over one connection; nothing is sealed, since the echo looks at nothing.
//
//     ask PORT ROOT BOARDS IN_FLIGHT SIZE SECONDS
//
// Prints {"count", "seconds", "p50_ms", "p95_ms", "p99_ms"}.

#define _GNU_SOURCE
#include <mosquitto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME = 32, MOST = 4096, TOPIC = 256, BUCKETS = 200000 };

static const char *root;
static int boards, in_flight, size, next_board, flying;
static double *asked, end;
static uint32_t *buckets; // of 10 microseconds each
static uint64_t answered;

static void fail(const char *what, int code) {
    fprintf(stderr, "ask: %s: %s\n", what, mosquitto_strerror(code));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void ask(struct mosquitto *client) {
    static char request[MOST];
    char topic[TOPIC];
    int board = next_board;
    next_board = (next_board + 1) % boards;
    snprintf(topic, sizeof topic, "%s/00000000-0000-4000-8000-%012d/outbox", root, board);
    snprintf(request, NAME, "%d", board);
    asked[board] = now();
    flying++;
    int failed = mosquitto_publish(client, NULL, topic, size, request, 1, false);
    if (failed) fail("publish", failed);
}

static void on_connect(struct mosquitto *client, void *user, int code) {
    (void)user;
    if (code) fail("connect", code);
    char filter[TOPIC];
    snprintf(filter, sizeof filter, "%s/+/inbox", root);
    int failed = mosquitto_subscribe(client, NULL, filter, 1);
    if (failed) fail("subscribe", failed);
}

static void on_subscribe(struct mosquitto *client, void *user, int id, int count,
                         const int *granted) {
    (void)user, (void)id, (void)count, (void)granted;
    for (int i = 0; i < in_flight; i++) ask(client);
}

static void on_message(struct mosquitto *client, void *user,
                       const struct mosquitto_message *message) {
    (void)user;
    if (message->payloadlen < NAME) return;
    int board = atoi(message->payload);
    if (board < 0 || board >= boards) return;
    double time = now();
    long bucket = (long)((time - asked[board]) * 1e5);
    buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    answered++;
    flying--;
    if (time < end) {
        ask(client);
    } else if (!flying) {
        mosquitto_disconnect(client);
    }
}

static double percentile(int percent) {
    uint64_t rank = (answered * (uint64_t)percent + 99) / 100, seen = 0;
    for (long bucket = 0; bucket < BUCKETS; bucket++)
        if ((seen += buckets[bucket]) >= rank) return (double)(bucket + 1) / 100;
    return 0;
}

int main(int count, char **words) {
    if (count != 7) return 2;
    root = words[2];
    boards = atoi(words[3]), in_flight = atoi(words[4]), size = atoi(words[5]);
    if (boards < in_flight || in_flight < 1 || size < NAME || size > MOST) return 2;
    asked = calloc((size_t)boards, sizeof *asked);
    buckets = calloc(BUCKETS, sizeof *buckets);
    if (!asked || !buckets) return 1;
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new("ask", true, NULL);
    if (!client) return 1;
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 1024);
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_callback_set(client, on_message);
    int failed = mosquitto_connect(client, "127.0.0.1", atoi(words[1]), 60);
    if (failed) fail("connect", failed);
    double begin = now();
    end = begin + atof(words[6]);
    failed = mosquitto_loop_forever(client, -1, 1);
    if (failed || flying) fail("the connection", failed);
    printf("{\"count\": %llu, \"seconds\": %.3f, \"p50_ms\": %.2f, \"p95_ms\": %.2f, "
           "\"p99_ms\": %.2f}\n",
           (unsigned long long)answered, now() - begin, percentile(50), percentile(95),
           percentile(99));
}
