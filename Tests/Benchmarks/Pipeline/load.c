// The load of the pipeline's benchmark: it publishes at one end, counts at the other, checks
// that every message comes once, whole and in order, and prints JSON.
//
//   load flow     --publish A --consume A --topic T --filter F --bytes N --count N --window N
//   load backlog  the same, with --answers T: nothing goes on until a line comes on stdin
//   load start    --publish A --topic T --count N -- PROGRAM ARGUMENTS…
//
// An address is host:port or the path of a Unix socket. One thread, few system calls: it is
// not to be what is measured.
#define _GNU_SOURCE
#include "mqtt.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// How much is queued for the socket at once.
enum { OUTPUT_LIMIT = 64 * 1024, PAYLOAD_LIMIT = 1 << 20 };

typedef struct {
    const char *publish, *consume, *topic, *filter, *answers;
    uint32_t bytes, count, window, unacknowledged, timeout;
    /// Which publications are this run's.
    uint32_t run;
} Options;

typedef struct {
    Options options;
    Link publisher, consumer;
    uint8_t *payload;
    uint32_t sent, arrived, answered, refused, repeats, disordered, strays, next;
    uint8_t *seen;
    /// When each was published and, from its arrival on, how long it took: nanoseconds.
    int64_t *times;
    int64_t first_sent, first_arrival, last_arrival;
} Load;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static double seconds(int64_t nanoseconds) { return (double)nanoseconds / 1e9; }

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// One message is {"run":"01234567","n":12345678,"fill":"xxx…"}: numbers of one width each.

static const char head[] = "{\"run\":\"01234567\",\"n\":12345678,\"fill\":\"";
enum { RUN_AT = 8, NUMBER_AT = 22, FIRST_NUMBER = 10000000 };

static void make_payload(Load *load) {
    load->payload = malloc(load->options.bytes + 1);
    if (!load->payload) fail("out of memory");
    memset(load->payload, 'x', load->options.bytes);
    memcpy(load->payload, head, sizeof head - 1);
    memcpy(load->payload + load->options.bytes - 2, "\"}", 2);
    char run[9];
    snprintf(run, sizeof run, "%08x", load->options.run);
    memcpy(load->payload + RUN_AT, run, 8);
}

static void put_payload_number(uint8_t *payload, uint32_t number) {
    number += FIRST_NUMBER;
    for (int digit = 7; digit >= 0; digit--, number /= 10)
        payload[NUMBER_AT + digit] = (uint8_t)('0' + number % 10);
}

/// The number of one of this run's messages; UINT32_MAX for anything else.
static uint32_t payload_number(const Load *load, const Arrival *arrival) {
    const uint8_t *payload = arrival->payload;
    if (arrival->length != load->options.bytes) return UINT32_MAX;
    if (memcmp(payload, load->payload, NUMBER_AT)) return UINT32_MAX;
    size_t after = NUMBER_AT + 8;
    if (memcmp(payload + after, load->payload + after, load->options.bytes - after))
        return UINT32_MAX;
    uint32_t number = 0;
    for (int digit = 0; digit < 8; digit++)
        number = number * 10 + (uint32_t)(payload[NUMBER_AT + digit] - '0');
    number -= FIRST_NUMBER;
    return number < load->options.count ? number : UINT32_MAX;
}

// Publishing and counting.

static void publish(Load *load) {
    put_payload_number(load->payload, load->sent);
    Publication message = {
        load->options.topic, load->payload, load->options.bytes, load->options.answers};
    load->times[load->sent] = now();
    if (load->sent++ == 0) load->first_sent = load->times[0];
    link_publish(&load->publisher, &message);
}

static void count(Load *load, const Arrival *arrival) {
    uint32_t number = payload_number(load, arrival);
    if (number == UINT32_MAX) {
        load->strays++;
        return;
    }
    if (load->seen[number]) {
        load->repeats++;
        return;
    }
    load->seen[number] = 1;
    load->last_arrival = now();
    if (load->arrived++ == 0) load->first_arrival = load->last_arrival;
    load->times[number] = load->last_arrival - load->times[number];
    if (number != load->next) load->disordered++;
    load->next = number + 1;
}

static void listen_upstream(Load *load) {
    Packet packet;
    Arrival arrival;
    link_read(&load->consumer);
    while (link_next(&load->consumer, &packet)) {
        if (packet.type != PUBLISH) continue;
        link_take(&load->consumer, &packet, &arrival);
        count(load, &arrival);
    }
}

/// PUBACKs, and the outcomes that were asked for.
static void listen_local(Load *load) {
    Packet packet;
    Arrival arrival;
    link_read(&load->publisher);
    while (link_next(&load->publisher, &packet)) {
        if (packet.type != PUBLISH) continue;
        link_take(&load->publisher, &packet, &arrival);
        load->answered++;
        if (!memmem(arrival.payload, arrival.length, "\"seq\"", 5)) load->refused++;
    }
}

/// One turn of the loop; fails the program when nothing happens for the time-out.
static void turn(Load *load) {
    link_write(&load->publisher);
    link_write(&load->consumer);
    struct pollfd wait[] = {
        {load->publisher.fd, POLLIN, 0},
        {load->consumer.fd, POLLIN, 0},
    };
    if (link_has_output(&load->publisher)) wait[0].events |= POLLOUT;
    if (link_has_output(&load->consumer)) wait[1].events |= POLLOUT;
    int ready = poll(wait, 2, (int)load->options.timeout * 1000);
    if (ready < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
    if (ready == 0)
        fail("nothing for %u s: %u of %u sent, %u not acknowledged, %u answered, %u arrived",
             load->options.timeout, load->sent, load->options.count,
             load->publisher.unacknowledged, load->answered, load->arrived);
    if (wait[0].revents & ~POLLOUT) listen_local(load);
    if (wait[1].revents & ~POLLOUT) listen_upstream(load);
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/// Publishes while no more than the window is on its way to where `done` is counted.
static void publish_within(Load *load, uint32_t window, const uint32_t *done) {
    uint32_t limit = least(load->options.unacknowledged, load->publisher.receive_maximum);
    while (load->sent < load->options.count && load->sent - *done < window
           && load->publisher.unacknowledged < limit
           && load->publisher.out.end - load->publisher.out.begin < OUTPUT_LIMIT)
        publish(load);
}

// What is printed.

static int by_size(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/// A quantile of sorted times, in microseconds: the nearest rank.
static double quantile(const Load *load, double part) {
    uint32_t rank = (uint32_t)(part * (load->options.count - 1) + 0.5);
    return (double)load->times[rank] / 1e3;
}

static void print_flow(Load *load, int64_t since) {
    uint32_t total = load->options.count;
    qsort(load->times, total, sizeof *load->times, by_size);
    printf("{\"count\":%u,\"bytes\":%u,\"seconds\":%.6f,\"arriving\":%.6f,", total,
           load->options.bytes, seconds(load->last_arrival - since),
           seconds(load->last_arrival - load->first_arrival));
    printf("\"repeats\":%u,\"disordered\":%u,\"strays\":%u,", load->repeats, load->disordered,
           load->strays);
    printf("\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"load_cpu\":%.6f}\n",
           quantile(load, 0.5), quantile(load, 0.99), quantile(load, 1), processor_seconds());
    fflush(stdout);
}

// What can be asked for.

static void open_both(Load *load) {
    char name[32];
    snprintf(name, sizeof name, "load-in-%08x", load->options.run);
    MQTTVersion version = load->options.answers ? MQTT_5 : MQTT_3_1_1;
    link_open(&load->publisher, version, load->options.publish, name);
    if (load->options.answers) link_subscribe(&load->publisher, load->options.answers);
    snprintf(name, sizeof name, "load-out-%08x", load->options.run);
    link_open(&load->consumer, MQTT_5, load->options.consume, name);
    link_subscribe(&load->consumer, load->options.filter);
    load->seen = calloc(load->options.count, 1);
    load->times = calloc(load->options.count, sizeof *load->times);
    if (!load->seen || !load->times) fail("out of memory");
    make_payload(load);
    // By now its kernel has acknowledged the SUBACK, and no TCP holds the first message back.
    poll(NULL, 0, 60);
}

/// The last PUBACKs: those due here, and those that are owed.
static void settle(Load *load) {
    while (load->publisher.unacknowledged) turn(load);
    while (link_has_output(&load->consumer)) {
        struct pollfd wait = {load->consumer.fd, POLLOUT, 0};
        if (poll(&wait, 1, (int)load->options.timeout * 1000) <= 0) fail("upstream reads nothing");
        link_write(&load->consumer);
    }
}

/// From the first publication to the last arrival, with at most the window on its way.
static void flow(Load *load) {
    open_both(load);
    while (load->arrived < load->options.count) {
        publish_within(load, load->options.window, &load->arrived);
        turn(load);
    }
    settle(load);
    print_flow(load, load->first_sent);
}

static void await_line(const char *said) {
    char line[16];
    printf("%s\n", said);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) fail("nobody waits any more");
}

/// Fills the queue while upstream is away, then counts what comes when it is back.
static void backlog(Load *load) {
    open_both(load);
    await_line("{\"subscribed\":true}");
    int64_t begin = now();
    const uint32_t *done = load->options.answers ? &load->answered : &load->sent;
    while (load->sent < load->options.count || *done < load->options.count
           || load->publisher.unacknowledged) {
        publish_within(load, load->options.window, done);
        turn(load);
    }
    char said[128];
    snprintf(said, sizeof said, "{\"filled\":%u,\"refused\":%u,\"seconds\":%.6f}", load->sent,
             load->refused, seconds(now() - begin));
    await_line(said);
    int64_t resumed = now();
    while (load->arrived < load->options.count) turn(load);
    settle(load);
    print_flow(load, resumed);
}

static pid_t start_program(char **command) {
    pid_t child = fork();
    if (child < 0) fail("fork: %s", strerror(errno));
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execv(command[0], command);
    _exit(127);
}

static void end_program(pid_t child) {
    kill(child, SIGTERM);
    for (int waits = 0; waits < 500; waits++) {
        if (waitpid(child, NULL, WNOHANG) == child) return;
        poll(NULL, 0, 10);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fail("the program did not end within 5 s");
}

/// Whether the message that a started program is waited for has come.
static bool has_said(Link *link, const char *word) {
    Packet packet;
    Arrival arrival;
    bool found = false;
    while (link_next(link, &packet)) {
        if (packet.type != PUBLISH) continue;
        link_take(link, &packet, &arrival);
        found = found || memmem(arrival.payload, arrival.length, word, strlen(word));
    }
    link_write(link);
    return found;
}

/// How long a program takes from its exec until it says on the topic that it is available.
static void start(Load *load, char **command) {
    char name[32];
    snprintf(name, sizeof name, "load-in-%08x", load->options.run);
    link_open(&load->publisher, MQTT_5, load->options.publish, name);
    link_subscribe(&load->publisher, load->options.topic);
    printf("{\"milliseconds\":[");
    for (uint32_t turns = 0; turns < load->options.count; turns++) {
        int64_t begin = now();
        pid_t child = start_program(command);
        while (!has_said(&load->publisher, "\"state\":\"available\"")) {
            struct pollfd wait = {load->publisher.fd, POLLIN, 0};
            if (poll(&wait, 1, (int)load->options.timeout * 1000) <= 0) {
                kill(child, SIGKILL);
                fail("the program said nothing for %u s", load->options.timeout);
            }
            link_read(&load->publisher);
        }
        int64_t end = now();
        end_program(child);
        // What it said when it ended is not what the next one says.
        poll(NULL, 0, 50);
        printf("%s%.3f", turns ? "," : "", seconds(end - begin) * 1e3);
    }
    printf("]}\n");
}

static uint32_t number(const char *text) {
    char *end;
    unsigned long value = strtoul(text, &end, 0);
    if (*end || value > UINT32_MAX) fail("%s is no number", text);
    return (uint32_t)value;
}

static Options options(int argc, char **argv) {
    static const struct option names[] = {
        {"publish", 1, 0, 'p'}, {"consume", 1, 0, 'c'}, {"topic", 1, 0, 't'},
        {"filter", 1, 0, 'f'}, {"answers", 1, 0, 'a'}, {"bytes", 1, 0, 'b'},
        {"count", 1, 0, 'n'}, {"window", 1, 0, 'w'}, {"unacknowledged", 1, 0, 'u'},
        {"timeout", 1, 0, 's'}, {"run", 1, 0, 'r'}, {0},
    };
    Options found = {.bytes = 256, .count = 1000, .window = 1000, .unacknowledged = 1000,
                     .timeout = 30, .run = (uint32_t)getpid()};
    int name;
    while ((name = getopt_long(argc, argv, "+", names, NULL)) != -1) switch (name) {
        case 'p': found.publish = optarg; break;
        case 'c': found.consume = optarg; break;
        case 't': found.topic = optarg; break;
        case 'f': found.filter = optarg; break;
        case 'a': found.answers = optarg; break;
        case 'b': found.bytes = number(optarg); break;
        case 'n': found.count = number(optarg); break;
        case 'w': found.window = number(optarg); break;
        case 'u': found.unacknowledged = number(optarg); break;
        case 's': found.timeout = number(optarg); break;
        case 'r': found.run = number(optarg); break;
        default: exit(2);
    }
    return found;
}

int main(int argc, char **argv) {
    // It never outlives who started it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 2) fail("flow, backlog or start");
    Load load = {.options = options(argc - 1, argv + 1)};
    Options *given = &load.options;
    if (!given->publish || !given->topic || !given->count || !given->window
        || given->bytes < sizeof head + 2 || given->bytes > PAYLOAD_LIMIT
        || given->count > 10 * 1000 * 1000)
        fail("what is given does not suffice, or is out of bounds");
    bool is_start = !strcmp(argv[1], "start");
    if (is_start && argv[1 + optind]) start(&load, argv + 1 + optind);
    else if (is_start || !given->consume || !given->filter) fail("what is given does not suffice");
    else if (!strcmp(argv[1], "flow")) flow(&load);
    else if (!strcmp(argv[1], "backlog")) backlog(&load);
    else fail("flow, backlog or start, not %s", argv[1]);
    return 0;
}
