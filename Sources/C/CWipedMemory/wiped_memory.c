#include "wiped_memory.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Overwrites memory when it is freed.
//
// A token is copied many times: in an MQTT packet, in OpenSSL's plaintext, in JSON text, in a
// string. Each owner frees its copy, and the C library leaves the bytes in memory. So this file
// defines the program's `free` and `realloc`, and the dynamic linker binds the calls of all
// libraries to them. (See glibc's manual, "Replacing malloc". glibc's `mallopt(M_PERTURB)` does
// not overwrite the blocks that a thread keeps for reuse.) Memory that the C library frees
// internally, as in `getline`, is not overwritten.

extern void __libc_free(void *block);

void free(void *block) {
    if (block == NULL)
        return;
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

// glibc's `realloc` would free the old block without calling this `free`.
void *realloc(void *block, size_t size) {
    if (block == NULL)
        return malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t held = malloc_usable_size(block);
    if (size <= held && size > held / 2)
        return block;
    void *moved = malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, size < held ? size : held);
    free(block);
    return moved;
}
