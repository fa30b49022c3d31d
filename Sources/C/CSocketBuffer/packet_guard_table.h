// For `read` and `close` in socket_buffer.c.
#pragma once
#include "packet_guard.h"
#include <sys/types.h>

/// Returns `found` if the bytes read into `bytes` are well-formed or the descriptor has no guard.
/// Else returns -1 with EPROTO.
ssize_t packet_guard_judge(int descriptor, const void *bytes, ssize_t found);

/// Removes the guard of a descriptor that will be closed next.
void packet_guard_forget(int descriptor);
