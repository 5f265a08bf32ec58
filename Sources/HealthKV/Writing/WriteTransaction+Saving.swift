import HealthModel

extension WriteTransaction {
    /// Sets the order in which the sources of a type win time from each other, or resets it to the default with `nil`.
    ///
    /// Sources that the order does not name follow in the default order: typed in by the user, watch, phone, others;
    /// among equals, the one that the store met last comes first. Statistics reflect the change immediately.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.setPriority([RankedSource(SourceIdentity(name: "Phone"))], of: .stepCount)
    /// }
    /// ```
    public mutating func setPriority(_ order: [RankedSource]?, of type: SampleType) throws {
        guard (order ?? []).count <= PriorityRecord.orderLimit else {
            throw ModelError.numberOutOfRange(field: "sources of an order")
        }
        for place in order ?? [] {
            for text in [place.source.name, place.source.bundle] where text.utf8.count > Sample.textLimit {
                throw ModelError.malformedText(field: "source")
            }
        }
        try whole { transaction in
            let number = try NameTable.number(of: type, in: &transaction)
            var record = try PriorityTable.priorities(in: transaction.snapshot)
            guard record.orders[number] != order else { return }
            record.orders[number] = order
            PriorityTable.put(record, in: &transaction)
            try PriorityTable.markAllStale(number, in: &transaction)
            if try ShadowMarks.shadows(number, in: transaction) {
                try ShadowMarks.rebuildShadows(of: number, in: &transaction)
            }
        }
    }
}
