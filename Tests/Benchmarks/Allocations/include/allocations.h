#pragma once

/// How often this process has asked for memory so far.
unsigned long allocations_so_far(void);
