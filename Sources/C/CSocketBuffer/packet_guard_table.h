// For `read` and `close` in socket_buffer.c.
#pragma once
#include "packet_guard.h"
#include <sys/types.h>

/// `found` if what was read into `bytes` is well-formed, or nobody guards it; else -1 and EPROTO.
ssize_t packet_guard_judge(int descriptor, const void *bytes, ssize_t found);

/// The descriptor is about to be closed.
void packet_guard_forget(int descriptor);
