// The settings of the C library's malloc, which Swift's module of the C library leaves out. Elsewhere there are none.
#ifdef __linux__
#include <malloc.h>
#endif
