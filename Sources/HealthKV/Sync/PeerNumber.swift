import HealthModel

/// The number under which a database of health holds a version of an own sample. HealthKit and Health Connect order what one app wrote
/// under one sync identifier by a number alone, so the number carries what makes that order total: a slot, which is the version unless the
/// database holds other content under it already, and below it some bits of the clock and the replica that made the version. Two devices
/// that edit one sample at once therefore send different numbers, and the database itself settles on one of them. Two devices that send
/// the same version send the same number, so neither replaces what the other sent.
///
/// A raised slot never changes the version in the store: the number is kept in the link, and versions are merged as their stores
/// minted them.
///
/// Bit 52 marks such a number. All of them are below 2^53, since HealthKit may keep numbers of metadata as doubles.
package enum PeerNumber {
    private static let clockBits: Int64 = 11
    private static let mark: Int64 = 1 << 52
    private static let slotLimit: Int64 = 1 << (52 - clockBits)

    /// The number for content of a version that takes the place of what is held under `floor` or less.
    package static func next(version: Int64, _ clock: ChangeClock, above floor: Int64) -> Int64 {
        let number = number(slot: version, clock)
        if number > floor { return number }
        return max(floor + 1, self.number(slot: slot(of: floor) + 1, clock))
    }

    /// The greatest number that a version has where its slot was not raised: a deletion of the version reaches up to it.
    package static func last(version: Int64) -> Int64 {
        version < slotLimit ? mark | version << clockBits | (1 << clockBits - 1) : version
    }

    /// The version that a number was made for, or a greater one where its slot was raised. A number that this engine did not make
    /// is a version itself.
    package static func slot(of number: Int64) -> Int64 {
        isOurs(number) ? (number & (mark - 1)) >> clockBits : max(0, number)
    }

    /// Whether a number may have been made for a version with a clock. Another program that writes a greater number and leaves the metadata as
    /// it was has made something else.
    package static func isMade(_ number: Int64, of clock: ChangeClock) -> Bool {
        !isOurs(number) || number & (1 << clockBits - 1) == bits(slot(of: number), clock)
    }

    /// Whether a number has the mark of this engine.
    package static func isOurs(_ number: Int64) -> Bool { number >= mark && number < mark << 1 }

    /// Versions that an app gives may be too large for a slot; they are numbers themselves.
    private static func number(slot: Int64, _ clock: ChangeClock) -> Int64 {
        slot < slotLimit ? mark | slot << clockBits | bits(slot, clock) : slot
    }

    /// Other bits for each slot, so that two versions that agree in some do not agree in all.
    private static func bits(_ slot: Int64, _ clock: ChangeClock) -> Int64 {
        var mixed = UInt64(bitPattern: slot) &* 0x9E37_79B9_7F4A_7C15
        // Of the time about the second: what came back from a database is a little older, and the same version.
        for word in [UInt64(bitPattern: clock.time.nanoseconds) >> 30, UInt64(clock.replica)] {
            mixed = (mixed ^ word) &* 0xD6E8_FEB8_6659_FD93
            mixed ^= mixed >> 32
        }
        return Int64(mixed & (1 << clockBits - 1))
    }
}
