/// Whether two texts are the same bytes. Swift's own equality takes composed and decomposed letters for the same, but a
/// store keeps what it was given: names that differ in a byte are two names.
package func isSameText(_ left: String, _ right: String) -> Bool {
    // The usual texts are ASCII, of which Swift's own equality says all there is to say, and much sooner.
    left.utf8.count == right.utf8.count && left == right
        && (left.utf16.count == left.utf8.count || left.utf8.elementsEqual(right.utf8))
}

func isSameText(_ left: String?, _ right: String?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return isSameText(left, right)
}
