import HealthModel

extension StoreCore {
    /// Recent identity entries beyond this are folded into runs.
    static let recentLimit: UInt32 = 4_096
    /// Chunks that one step of a mass operation looks at: about 5 ms.
    static let chunksPerStep = 32

    /// Does one step of unfinished work; answers true when more remains. Runs on the writing thread.
    func maintainStep() throws -> Bool {
        let header = try read { $0.context.header }
        if header.intents > 0 {
            try transact { try $0.advanceFirstIntent(chunks: StoreCore.chunksPerStep) }
            return true
        }
        if header.recentEntries > StoreCore.recentLimit {
            try transact { try $0.foldRecentEntries() }
            return true
        }
        return false
    }
}

extension WriteTransaction {
    /// Carries the oldest mass operation on.
    mutating func advanceFirstIntent(chunks: Int) throws {
        guard var intent = context.intents.first else {
            state.header.intents = 0
            state.isChanged = true
            return
        }
        if try advance(&intent, chunks: chunks) {
            try remove(.upkeep, intent.key)
            context.intents.removeFirst()
            state.header.intents -= 1
        } else {
            try put(.upkeep, intent.key, intent.value(commit: commit))
            context.intents[0] = intent
        }
        syncHeader()
    }
}
