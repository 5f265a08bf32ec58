#include <sqlite3.h>

// Swift cannot call a variadic function.
static inline int sqlite_stop_counting_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
