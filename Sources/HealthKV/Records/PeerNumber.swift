import HealthModel

/// The number under which a health database holds a version of an own sample. HealthKit and Health Connect order the
/// versions that one app wrote under one sync identifier by a number alone. So the number carries everything that makes
/// this order total: in the upper bits a slot, which is the version; below it two bits, which are raised if the
/// database already holds other content of this version; and in the lower bits a hash of all this and of the clock and
/// replica that made the version. Two devices that edit one sample concurrently therefore send different numbers, and
/// the database itself picks one. Two devices that send the same version send the same number, so neither replaces what
/// the other sent. A raised number is below all numbers of the next version: what a device raises never replaces an
/// edit that it has not seen. Only after three raises, or if another program wrote a greater number, is the slot
/// raised.
///
/// Raising never changes the version in the store: the number is kept in the link, and stores merge versions as the
/// store that made them assigned them.
///
/// Bit 52 marks such a number. All of them are below 2^53, because HealthKit may keep numbers in metadata as doubles.
/// The bits below the mark hold the slot of 31 bits, the raise, and 18 bits of the hash. Bit 51 marks greater slots,
/// with 10 bits of the hash and no raise. Apps that take versions from a clock in milliseconds need slots of 41 bits.
/// In the first version, which most samples keep, the hash has 11 bits: it is stored in the link of each sample, and
/// two devices rarely make one sample at once.
package enum PeerNumber {
    private static let mark: Int64 = 1 << 52
    private static let largeMark: Int64 = 1 << 51
    private static let slotLimit: Int64 = 1 << 41
    private static let smallSlotLimit: Int64 = 1 << 31

    private static let mostRaises: Int64 = 3

    /// Returns the number of bits below a slot.
    private static func bits(_ slot: Int64) -> Int64 { slot < smallSlotLimit ? 20 : 10 }

    /// Returns the number of bits of the hash in a number of this engine.
    private static func hashBits(_ number: Int64) -> Int64 { number & largeMark == 0 ? 18 : 10 }

    /// Returns the smallest number of a slot.
    private static func base(_ slot: Int64) -> Int64 {
        mark | (slot < smallSlotLimit ? 0 : largeMark) | slot << bits(slot)
    }

    /// Returns the number for content of a version that replaces content held under `floor` or less.
    package static func next(version: Int64, _ clock: ChangeClock, above floor: Int64) -> Int64 {
        let number = number(slot: version, raise: 0, clock)
        if number > floor { return number }
        let held = slot(of: floor)
        if let raise = raise(of: floor), raise < mostRaises { return self.number(slot: held, raise: raise + 1, clock) }
        // Another program may have used the greatest number there is.
        let above = min(floor, .max - 1) + 1
        return max(above, self.number(slot: min(held, .max - 1) + 1, raise: 0, clock))
    }

    /// Returns the greatest number of a version whose slot was not raised. A deletion of the version reaches up to it.
    package static func last(version: Int64) -> Int64 {
        version < slotLimit ? base(version) | (1 << bits(version) - 1) : version
    }

    /// Returns the version for which a number was made, or a greater one if its slot was raised. A number that this
    /// engine did not make is itself a version.
    package static func slot(of number: Int64) -> Int64 {
        guard isOurs(number) else { return max(0, number) }
        return (number & (largeMark - 1)) >> (number & largeMark == 0 ? 20 : 10)
    }

    /// Returns `true` if a number may have been made for a version with this clock. If another program writes a greater
    /// number and leaves the metadata unchanged, the number does not match the clock.
    package static func isMade(_ number: Int64, of clock: ChangeClock) -> Bool {
        !isOurs(number) || number == self.number(slot: slot(of: number), raise: raise(of: number) ?? 0, clock)
    }

    /// Returns how often a number was raised within its slot; `nil` if its form has no place for that.
    private static func raise(of number: Int64) -> Int64? {
        isOurs(number) && number & largeMark == 0 ? number >> 18 & mostRaises : nil
    }

    /// Returns `true` if a number has the mark of this engine.
    package static func isOurs(_ number: Int64) -> Bool { number >= mark && number < mark << 1 }

    /// Returns `true` if the deletion of what had one number is also that of what has the other: of the same, and of
    /// what it replaced, lesser versions and lesser raises. Numbers that differ in the hash alone were made by two
    /// devices at once, and the end of one is not that of the other.
    package static func covers(_ deleted: Int64, _ number: Int64) -> Bool {
        if number == deleted || !isOurs(deleted) { return number <= deleted }
        return number >> hashBits(deleted) < deleted >> hashBits(deleted)
    }

    /// Versions that an app assigns may be too large for a slot; these are used as numbers directly.
    private static func number(slot: Int64, raise: Int64, _ clock: ChangeClock) -> Int64 {
        guard slot < slotLimit else { return slot }
        let start = base(slot) | raise << 18
        let bits = slot <= 1 && raise == 0 ? 11 : hashBits(start)
        return start | hash(slot | raise << 60, clock) & (1 << bits - 1)
    }

    /// The bits depend on slot and raise, so that two clocks that collide in one do not collide in all.
    private static func hash(_ place: Int64, _ clock: ChangeClock) -> Int64 {
        var mixed = UInt64(bitPattern: place) &* 0x9E37_79B9_7F4A_7C15
        // Use the time only to about a second: a version that came back from a database has a slightly older clock, and
        // must get the same bits.
        for word in [UInt64(bitPattern: clock.time.nanoseconds) >> 30, UInt64(clock.replica)] {
            mixed = (mixed ^ word) &* 0xD6E8_FEB8_6659_FD93
            mixed ^= mixed >> 32
        }
        return Int64(mixed & (1 << 62 - 1))
    }
}
