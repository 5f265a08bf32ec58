#include <sqlite3.h>

// Swift cannot call a function with any number of arguments.
static inline int sqlite_stop_counting_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
