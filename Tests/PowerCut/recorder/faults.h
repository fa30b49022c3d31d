// Lets calls of the recorded program fail: a full disk, or a sync that fails.
//
// POSTERN_FAULTS is a file of one `struct faults`, which the program itself writes.

enum { FULL = 'F', SYNC_FAILS = 'S' };
static struct faults {
    uint32_t mode;     // FULL: from then on nothing has room; SYNC_FAILS: one sync fails
    uint32_t passing;  // so many calls that could fail pass before
    uint32_t failed;   // so many have failed
} *faults;

static void map_faults(void) {
    const char *path = getenv("POSTERN_FAULTS");
    if (!path) return;
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    long place = fd < 0 ? -1 : syscall(
        SYS_mmap, NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (place == -1) abort();
    syscall(SYS_close, fd);
    faults = (struct faults *)place;
}

// Whether a call fails that takes room (or, with `is_sync`, that syncs). What gives room back, and
// what reads, always succeeds.
static int fails(int is_sync) {
    if (!faults || !(faults->mode == FULL || (faults->mode == SYNC_FAILS && is_sync))) return 0;
    if (faults->passing > 0) return faults->passing--, 0;
    faults->failed++;
    errno = faults->mode == FULL ? ENOSPC : EIO;
    if (faults->mode == SYNC_FAILS) faults->mode = 0;
    return 1;
}
