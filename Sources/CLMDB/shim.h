// The one seam to liblmdb: an Apple app supplies a C target of the same name and module instead.
#include <lmdb.h>
