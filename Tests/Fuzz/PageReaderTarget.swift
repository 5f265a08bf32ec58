import PageReader

/// Called by libFuzzer. The bytes are a data file: walks every snapshot and reads every value.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: count))
    if PlantedFault.isMet(bytes) { fatalError("the planted fault was met") }
    let file = PageFile(bytes: bytes)
    let metas = MetaPages(file)
    for meta in metas.pages.compactMap({ $0 }) {
        var size = 0
        var options = SnapshotWalk.Options()
        options.readsOverflowHeaders = count & 1 == 0
        let walk = SnapshotWalk(file, meta, options: options, visits: { _ in true }) { entry in
            size += (try? entry.value().count) ?? 0
        }
        precondition(size <= count, "no byte belongs to two values")
        precondition(walk.findings.count <= options.limit)
    }
    return 0
}
