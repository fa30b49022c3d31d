#include "wiped_memory.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Overwrites memory when it is freed.
//
// A token passes through many hands: an MQTT packet, what OpenSSL decrypted, JSON's text, a
// string. Each frees its copy, and the C library leaves the bytes where they were. This defines
// `free` and `realloc` of the program, in place of the C library's: the dynamic linker binds the
// calls of all libraries to them. (glibc's manual, "Replacing malloc"; its `mallopt(M_PERTURB)`
// leaves out the blocks that a thread keeps for itself.) What the C library frees
// within itself, as `getline` does, is not overwritten.

extern void __libc_free(void *block);

void free(void *block) {
    if (block == NULL)
        return;
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

// glibc's own would free the old block without a word to `free`.
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
