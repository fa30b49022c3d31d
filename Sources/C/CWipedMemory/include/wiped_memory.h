#pragma once
// There is no function to call: see wiped_memory.c.
