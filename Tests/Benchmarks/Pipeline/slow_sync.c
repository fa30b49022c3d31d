// Preloaded into an agent, it makes each sync take SYNC_MS milliseconds more, as on a slow
// SD card.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_as_the_card_does(void) {
    const char *text = getenv("SYNC_MS");
    long milliseconds = text ? atol(text) : 0;
    struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&span, &span)) {}
}

int fsync(int file) {
    wait_as_the_card_does();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_as_the_card_does();
    return (int)syscall(SYS_fdatasync, file);
}
