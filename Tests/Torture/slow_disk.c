// A slow SD card for one program: every sync takes SLOW_DISK_MS milliseconds longer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_the_card(void) {
    const char *text = getenv("SLOW_DISK_MS");
    long milliseconds = text ? atol(text) : 0;
    struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    if (milliseconds > 0) nanosleep(&span, NULL);
}

int fsync(int descriptor) {
    wait_for_the_card();
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return original(descriptor);
}

int fdatasync(int descriptor) {
    wait_for_the_card();
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return original(descriptor);
}
