#pragma once
// Nothing to call: see wiped_memory.c.
