/// A fault that the fuzzer must find when it is compiled in.
enum PlantedFault {
    static var isPlanted: Bool {
        #if PLANTED
            true
        #else
            false
        #endif
    }

    /// A length that no input of the initial corpus has.
    static func isMet(_ bytes: [UInt8]) -> Bool { isPlanted && bytes.count % 512 == 77 }
}
