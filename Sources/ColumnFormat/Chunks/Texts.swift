import HealthModel

/// A column of strings. Decodes all strings at once for many rows, one by one for a few.
enum Texts {
    case all([[UInt8]?])
    case single(TextColumn.Reader)

    static let few = 4

    /// `nil` if no row has a string.
    init?(_ tag: ColumnTag, _ details: borrowing DetailsChunk, _ rows: Range<Int>) throws(FormatError) {
        guard let range = try details.value.column(tag.rawValue) else { return nil }
        self =
            rows.count > Texts.few
            ? .all(try TextColumn.decode(details.value.span, range, rows: details.rows))
            : .single(try TextColumn.Reader(details.value.span, range, rows: details.rows))
    }

    func text(_ span: RawSpan, at row: Int) throws(FormatError) -> [UInt8]? {
        switch self {
        case .all(let texts): texts[row]
        case .single(let reader): try reader.text(span, at: row)
        }
    }
}
