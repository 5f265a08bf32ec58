/// A fault that the fuzzer must find when it is compiled in: a length that the inputs it begins with do not have.
enum PlantedFault {
    static func isMet(_ bytes: [UInt8]) -> Bool {
        #if PLANTED
            bytes.count % 512 == 77
        #else
            false
        #endif
    }
}
