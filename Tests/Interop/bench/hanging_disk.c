// A disk that stands still or fails: no sync returns while the file that HANGING_DISK names is
// there, and each fails while the one that FAILING_DISK names is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int is_there(const char *variable) {
    const char *path = getenv(variable);
    return path && access(path, F_OK) == 0;
}

static int sync_by(const char *name, int descriptor) {
    struct timespec span = {0, 10000000};
    while (is_there("HANGING_DISK")) nanosleep(&span, NULL);
    if (is_there("FAILING_DISK")) {
        errno = EIO;
        return -1;
    }
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return original(descriptor);
}

int fsync(int descriptor) { return sync_by("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_by("fdatasync", descriptor); }
