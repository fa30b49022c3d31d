/* Writes a temperature to Postern again and again: thermo PASSWORD-FILE [PORT]
 *
 * sudo apt install gcc libmosquitto-dev
 * cc -o thermo thermo.c -lmosquitto
 *
 * It looks for members in the JSON as the agent writes it, without spaces. A program that needs more
 * takes a JSON library. */
#include <errno.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { EVERY = 5, LONG = 1 << 30 };
static const char *reading = "{\"celsius\": 21.5}";    /* read your sensor here */
static char password[64], key[64], answers[128], text[16384];
static int session, answered, code, over, never;
static volatile sig_atomic_t stopped;

static void stop(int number) { stopped = number; }

static void read_word(const char *path, char word[64]) {
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    if (fscanf(file, "%63s", word) != 1) {
        fprintf(stderr, "%s: nothing is in it\n", path);
        exit(2);
    }
    fclose(file);
}

static void connected(struct mosquitto *bus, void *own, int reason) {
    printf("bus: %s\n", mosquitto_reason_string(reason));
    mosquitto_subscribe(bus, NULL, "postern/session", 1);
    mosquitto_subscribe(bus, NULL, "postern/app/thermo/answers/+", 1);
    mosquitto_subscribe(bus, NULL, "postern/app/thermo/rejected", 1);
}

static void received(struct mosquitto *bus, void *own, const struct mosquitto_message *message) {
    snprintf(text, sizeof text, "%.*s", message->payloadlen, (char *)message->payload);
    int is_final = strstr(text, "\"final\":true") != NULL;
    if (strcmp(message->topic, "postern/session") == 0)
        session = is_final || strstr(text, "\"state\":\"available\"");
    if (strcmp(message->topic, "postern/app/thermo/rejected") == 0) printf("rejected: %s\n", text);
    if (strcmp(message->topic, answers) != 0) return;
    char *member = strstr(text, "\"code\":");
    code = member ? atoi(member + 7) : 0;
    over = is_final;
    answered = 1;
    printf("%s %s\n", code ? "refused:" : strstr(text, "\"seq\":") ? "safe:" : "session:", text);
}

/* Keeps the connection going until *done, or for about so many seconds. */
static void work(struct mosquitto *bus, const int *done, int seconds) {
    for (; seconds > 0 && !*done && !over && !stopped; seconds--)
        if (mosquitto_loop(bus, 1000, 1) != MOSQ_ERR_SUCCESS && sleep(1) == 0)
            mosquitto_reconnect(bus);
}

/* Once, however often it has to be sent. */
static void ask(struct mosquitto *bus, const char *request, const char *payload) {
    mosquitto_property *asked = NULL;
    char topic[128];
    snprintf(topic, sizeof topic, "postern/app/thermo/%s", request);
    read_word("/proc/sys/kernel/random/uuid", key);
    snprintf(answers, sizeof answers, "postern/app/thermo/answers/%s", key);
    mosquitto_property_add_string(&asked, MQTT_PROP_RESPONSE_TOPIC, answers);
    mosquitto_property_add_binary(&asked, MQTT_PROP_CORRELATION_DATA, key, strlen(key));
    mosquitto_property_add_string_pair(&asked, MQTT_PROP_USER_PROPERTY, "key", key);
    for (int patience = EVERY, again = 1; again && !over && !stopped;) {
        answered = 0;
        mosquitto_publish_v5(bus, NULL, topic, strlen(payload), payload, 1, 0, asked);
        work(bus, &answered, patience);
        if (answered) work(bus, &never, EVERY);         /* the pause before the next */
        else patience = patience < 150 ? 2 * patience : 300;
        again = !answered || code == 140 || code == 155 || code == 206 || code == 209;
        if (answered && again) work(bus, &session, LONG);
    }
    mosquitto_property_free_all(&asked);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: thermo PASSWORD-FILE [PORT]\n");
        return 2;
    }
    read_word(arguments[1], password);
    int port = count > 2 ? atoi(arguments[2]) : 1883;
    setlinebuf(stdout);
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    mosquitto_lib_init();
    struct mosquitto *bus = mosquitto_new(NULL, 1, NULL);
    mosquitto_int_option(bus, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_username_pw_set(bus, "thermo", password);
    mosquitto_connect_callback_set(bus, connected);
    mosquitto_message_callback_set(bus, received);
    int failure = mosquitto_connect(bus, "127.0.0.1", port, 60);
    if (failure != MOSQ_ERR_SUCCESS) {
        fprintf(stderr, "no bus at 127.0.0.1:%d: %s\n", port,
                failure == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(failure));
        return 1;
    }
    work(bus, &session, LONG);
    ask(bus, "get/session", "{}");
    while (!over && !stopped) ask(bus, "create/Reading", reading);
    mosquitto_disconnect(bus);
    if (over) fprintf(stderr, "pair this board again\n");
    return over;
}
