import Foundation

extension HKQuery {
    /// Without options, the predicate picks samples that overlap the span. A strict start requires `start <= s < end`;
    /// a strict end requires that the sample ends inside the span (A18).
    public class func predicateForSamples(
        withStart startDate: Date?, end endDate: Date?, options: HKQueryOptions = []
    ) -> NSPredicate {
        let (from, to) = (startDate ?? .distantPast, endDate ?? .distantFuture)
        let rule = SampleRule(from: from, to: to) { record in
            if options.contains(.strictStartDate), record.start < from || record.start >= to { return false }
            if options.contains(.strictEndDate), record.end < from || record.end > to { return false }
            return record.start < to && (record.end > from || record.start >= from)
        }
        return rule.predicate
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    public class func predicateForObjects(with UUIDs: Set<UUID>) -> NSPredicate {
        SampleRule(picks: { UUIDs.contains($0.uuid) }).predicate
    }

    public class func predicateForObjects(withMetadataKey key: String, allowedValues: [Any]) -> NSPredicate {
        let allowed = Set(allowedValues.compactMap { MetadataItem($0) })
        return SampleRule(picks: { record in record.metadata.items[key].map(allowed.contains) ?? false }).predicate
    }
}

extension SampleRule {
    fileprivate var predicate: NSPredicate {
        let rule = self
        return NSPredicate { object, _ in
            if let probe = object as? Probe {
                probe.rule = rule
                return true
            }
            return (object as? HKSample).map { rule.picks(HealthRecord($0, by: $0.sourceRevision)) } ?? false
        }
    }
}
