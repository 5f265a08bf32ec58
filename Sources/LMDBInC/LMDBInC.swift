// The one place that chooses where LMDB's C functions come from. The Swift layer above imports this module and does not
// know which it is; who imports that layer does not see C names.
#if BundledLMDB
    @_exported import CLMDB
#else
    @_exported import CSystemLMDB
#endif
