// The settings of the C library's malloc, which Swift's module of the C library omits. Only glibc has them.
#ifdef __linux__
#include <malloc.h>
#endif
