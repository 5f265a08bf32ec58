import HealthKV

extension EngineNotes {
    static func deferred(_ peer: PeerID, _ type: SampleType, _ block: Int) -> String {
        "deferred:\(peer):\(type.identifier):\(block)"
    }
}

extension WriteTransaction {
    /// Removes the blocks of a feed that is no longer followed.
    mutating func removeDeferred(_ blocks: DeferredBlocks?, _ peer: PeerID, _ type: SampleType) throws {
        guard let blocks else { return }
        for block in blocks.first..<blocks.next {
            let name = EngineNotes.deferred(peer, type, block)
            // Blocks follow each other without a gap, however many a damaged state claims.
            guard try syncNote(name) != nil else { return }
            try setSyncNote(name, nil)
        }
    }
}
