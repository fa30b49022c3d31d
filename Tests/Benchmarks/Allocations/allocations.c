// Counts what a program allocates, by standing before the C library's functions: glibc lets a
// program define them, and Swift's runtime comes through here as all else does.
// Source: the GNU C Library manual, Replacing malloc.

#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

static atomic_ulong made;

unsigned long allocations_so_far(void) {
    return atomic_load_explicit(&made, memory_order_relaxed);
}

static void count(void) { atomic_fetch_add_explicit(&made, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t members, size_t size) {
    count();
    return __libc_calloc(members, size);
}

void *realloc(void *old, size_t size) {
    count();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (!memory) { return ENOMEM; }
    *result = memory;
    return 0;
}

void free(void *old) { __libc_free(old); }
