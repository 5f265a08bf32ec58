// The system's zlib. Only the module AppleHealthExport imports this module.
#if __has_include(<zlib.h>)
    #include <zlib.h>
#else
    #error "zlib.h is missing: install zlib1g-dev"
#endif
