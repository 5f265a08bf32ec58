import ColumnFormat

/// Chooses the number of rows for each of several chunks: as many as the budget of a hot value holds.
struct ChunkPacker {
    /// Where more rows are likely to be inserted; `tail` is the number of rows after that place.
    enum Growth {
        case anywhere
        case behind
        case before(tail: Int)
        case between(tail: Int)
    }

    enum Order {
        case equal
        case wholeThenRest
        case restThenWhole
    }

    private let encoder: ChunkEncoder
    private let order: Order
    private var guess: Int
    private var piece = 0

    init(_ encoder: ChunkEncoder, _ order: Order) {
        self.encoder = encoder
        self.order = order
        // Near what ordinary samples take; the first plan corrects it.
        guess = 600
    }

    private var fillsWhole: Bool { order == .wholeThenRest }

    /// Returns the plan of the next chunk, taken from the front of `rows`.
    mutating func next(_ rows: ArraySlice<StoredRow>) -> ChunkEncoder.HotPlan {
        var wanted = guess
        if !fillsWhole {
            let isFirst = piece == 0
            if isFirst { piece = order == .restThenWhole ? wholePiece(rows) : equalPiece(rows) }
            wanted = isFirst && order == .restThenWhole ? (rows.count - 1) % piece + 1 : piece
        }
        var count = min(rows.count, ChunkEncoder.rowLimit, wanted)
        var plan = encoder.plan(rows.prefix(count))
        for attempt in 0..<8 {
            if plan.byteCount > encoder.hotBudget {
                // The size grows almost in proportion to the rows, so aiming slightly lower usually succeeds at the
                // first attempt.
                count = max(1, min(count - 1, count * (encoder.hotBudget - 64) / plan.byteCount))
            } else if fillsWhole, attempt < 2, plan.byteCount * 16 < encoder.hotBudget * 15,
                count < min(rows.count, ChunkEncoder.rowLimit)
            {
                count = min(rows.count, ChunkEncoder.rowLimit, count * (encoder.hotBudget - 64) / plan.byteCount)
            } else {
                break
            }
            plan = encoder.plan(rows.prefix(count))
        }
        while plan.byteCount > encoder.hotBudget, count > 1 {
            count = max(1, count * 3 / 4)
            plan = encoder.plan(rows.prefix(count))
        }
        if count < rows.count { guess = count }
        return plan
    }

    /// Returns a number of rows that nearly fills a page, with enough slack that hardly any chunk is too long. Many
    /// rows compress better than few, so the number is found iteratively.
    private func wholePiece(_ rows: ArraySlice<StoredRow>) -> Int {
        var piece = min(rows.count, ChunkEncoder.rowLimit)
        for _ in 0..<6 {
            let plan = encoder.plan(rows.suffix(piece))
            if plan.byteCount * 32 <= encoder.hotBudget * 31 { break }
            piece = max(1, min(piece - 1, piece * encoder.hotBudget * 31 / (32 * plan.byteCount)))
        }
        return piece
    }

    /// Returns the number of rows for equal parts of about two thirds of a page.
    private func equalPiece(_ rows: ArraySlice<StoredRow>) -> Int {
        let sampled = encoder.plan(rows.prefix(ChunkEncoder.rowLimit))
        let bytes = sampled.byteCount * rows.count / sampled.rows
        let pieces = max(2, (bytes * 3 + 2 * encoder.hotBudget - 1) / (2 * encoder.hotBudget))
        return (rows.count + pieces - 1) / pieces
    }
}
