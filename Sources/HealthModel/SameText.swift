/// Returns `true` if two texts have the same bytes. Swift's `==` treats composed and decomposed letters as equal, but a
/// store keeps texts exactly as given: names that differ in a byte are two names.
package func isSameText(_ left: String, _ right: String) -> Bool {
    // Most texts are ASCII, for which Swift's `==` is sufficient and much faster.
    left.utf8.count == right.utf8.count && left == right
        && (left.utf16.count == left.utf8.count || left.utf8.elementsEqual(right.utf8))
}

func isSameText(_ left: String?, _ right: String?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return isSameText(left, right)
}
