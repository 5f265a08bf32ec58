/// The addresses of blocks whose checksums a read transaction has verified, so that it verifies each block once.
///
/// Use it only for values that do not change in place: those of a snapshot that nobody can write to. The set has a
/// limited size: it forgets old blocks and verifies them again on their next use.
public final class VerifiedBlocks {
    private var addresses: [UInt] = []
    private var count = 0
    private var shift: UInt = 64

    private static let leastBits: UInt = 6
    private static let mostBits: UInt = 16
    private static let keptBits: UInt = 13

    public init() {}

    @inline(__always)
    private func slot(_ address: UInt) -> Int { Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) >> shift) }

    /// An address is never zero; zero marks an empty slot.
    func contains(_ address: UInt) -> Bool { !addresses.isEmpty && addresses[slot(address)] == address }

    func insert(_ address: UInt) {
        if 2 * count >= addresses.count, addresses.count < 1 << VerifiedBlocks.mostBits { grow() }
        count += 1
        addresses[slot(address)] = address
    }

    /// Forgets all blocks if they are many, so that a set that is kept does not keep much memory.
    public func trim() {
        guard addresses.count > 1 << VerifiedBlocks.keptBits else { return }
        (addresses, count, shift) = ([], 0, 64)
    }

    private func grow() {
        let old = addresses
        let bits = old.isEmpty ? VerifiedBlocks.leastBits : min(64 - shift + 2, VerifiedBlocks.mostBits)
        shift = 64 - bits
        addresses = [UInt](repeating: 0, count: 1 << Int(bits))
        for address in old where address != 0 { addresses[slot(address)] = address }
    }
}
