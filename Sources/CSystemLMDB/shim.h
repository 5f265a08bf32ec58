// The system's liblmdb. Only LMDBInC imports this module, and only without the trait BundledLMDB.
#if __has_include(<lmdb.h>)
    #include <lmdb.h>
#else
    #error "lmdb.h is missing: install liblmdb-dev, or enable the package trait BundledLMDB"
#endif
