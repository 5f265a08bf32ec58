// Selects the library that provides LMDB's C functions. The Swift layer above imports this module and does not depend
// on the choice; modules that import that layer do not see C names.
#if BundledLMDB
    @_exported import CLMDB
#else
    @_exported import CSystemLMDB
#endif
