/// A fault that the fuzzer must find when it is compiled in.
enum PlantedFault {
    static var isPlanted: Bool {
        #if PLANTED
            true
        #else
            false
        #endif
    }

    /// A length that the inputs it begins with do not have.
    static func isMet(_ bytes: [UInt8]) -> Bool { isPlanted && bytes.count % 512 == 77 }
}
