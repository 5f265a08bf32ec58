// The one instruction that Swift cannot say: bring a line of memory into the cache, and do not wait for it.
#pragma once
static inline __attribute__((always_inline)) void healthkv_prefetch(const void *address) { __builtin_prefetch(address); }
