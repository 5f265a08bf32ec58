/// The works to measure, in the order of the table.
enum Work: String, CaseIterable {
    case importing = "import"
    case reimport
    case bytes = "bytes_per_sample"
    case compacted = "bytes_per_sample_compacted"
    case derived = "bytes_per_sample_derived_compacted"
    case singleWrites = "bytes_per_sample_single_writes"
    case readAll = "read_all"
    case readAllRecycled = "read_all_recycled"
    case foldAll = "fold_all"
    case dayStats = "day_stats"
    case seriesPoints = "series_points"
    case rangeDay = "range_day"
    case rangeMonth = "range_month"
    case latest
    case lookup = "lookup_uuid"
    case lookupSync = "lookup_sync_id"
    case durableWrite = "durable_write"
    case durableWrite64 = "durable_write_64"
    case writeFolded = "write_folded"
    case edit
    case delete
    case open
    case openUnclean = "open_unclean"
    case dump
    case load
    case importXML = "import_xml"
    case syncImport = "sync_import"
    case syncImportYear = "sync_import_year"
    case syncDeletions = "sync_deletions"
    case pulled = "bytes_per_sample_pulled"
    case syncPushLatency = "sync_push_latency"
    case status

    /// Works that only this store is measured with, in separate stores.
    static let ofOwn: Set<Work> = ofSync.union([.singleWrites, .importXML])
    /// Works of the sync engine, which only this store has.
    static let ofSync: Set<Work> = [
        .syncImport, .syncImportYear, .syncDeletions, .pulled, .syncPushLatency, .status,
    ]
}
