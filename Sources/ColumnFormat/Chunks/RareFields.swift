/// The fields that few samples have.
public final class RareFields: Sendable, Hashable {
    /// The rare fields of a row.
    public struct Content: Sendable, Hashable {
        /// A sync identifier that is not the text form of the id.
        public var syncIdentifier: String?
        public var group: String?
        /// Encoded metadata; see ``MetadataCoding``.
        public var metadata: [UInt8]?
        /// The data that stays in this store and its peers, encoded as metadata.
        public var local: [UInt8]?
        public var timeZone: String?
        /// The details of samples that are more than a value; see ``PayloadCoding``.
        public var payload: [UInt8]?
        /// The imported state under an edit; see ``OriginalCoding``.
        public var original: [UInt8]?
        /// The record of a reverted edit; see ``ReversionCoding``.
        public var reversion: [UInt8]?

        public init() {}
    }

    public let content: Content

    /// `nil` if all fields are absent.
    public init?(_ content: Content) {
        if content == Content() { return nil }
        self.content = content
    }

    /// `nil` if all fields are absent.
    public convenience init?(syncIdentifier: String?, group: String?, metadata: [UInt8]?) {
        var content = Content()
        content.syncIdentifier = syncIdentifier
        content.group = group
        content.metadata = metadata
        self.init(content)
    }

    public var syncIdentifier: String? { content.syncIdentifier }
    public var group: String? { content.group }
    public var metadata: [UInt8]? { content.metadata }

    /// The total size of all texts in bytes.
    var byteCount: Int {
        var count = content.syncIdentifier?.utf8.count ?? 0
        count += content.group?.utf8.count ?? 0
        count += content.timeZone?.utf8.count ?? 0
        count += content.metadata?.count ?? 0
        count += content.local?.count ?? 0
        count += content.payload?.count ?? 0
        count += content.original?.count ?? 0
        count += content.reversion?.count ?? 0
        return count
    }

    /// The content of its string columns.
    var texts: [[UInt8]] {
        [content.syncIdentifier, content.group, content.timeZone].compactMap { $0.map { Array($0.utf8) } }
            + encoded
    }

    private var encoded: [[UInt8]] {
        [content.metadata, content.local, content.payload, content.original, content.reversion].compactMap(\.self)
    }

    /// Whether there are fields other than a sync identifier.
    public var saysMore: Bool {
        var bare = Content()
        bare.syncIdentifier = content.syncIdentifier
        return content != bare
    }

    public static func == (left: RareFields, right: RareFields) -> Bool { left.content == right.content }

    public func hash(into hasher: inout Hasher) { hasher.combine(content) }
}
