/// A one-time gate: threads wait at it until another thread opens it.
public final class Gate: Sendable {
    private let isOpen = Monitor(false)

    public init() {}

    public func open() { isOpen.update { $0 = true } }

    public func wait() { isOpen.wait { $0 } }
}
