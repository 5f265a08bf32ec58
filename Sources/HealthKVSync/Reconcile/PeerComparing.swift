import HealthKV

extension SampleReading where Self: ~Copyable {
    func checkNote(_ peer: PeerID, _ type: SampleType) throws -> CheckNote {
        EngineNotes.decode(try syncNote(EngineNotes.check(peer, type)), as: CheckNote.self) ?? CheckNote()
    }
}

extension WriteTransaction {
    mutating func setCheckNote(_ note: CheckNote, _ peer: PeerID, _ type: SampleType) throws {
        guard try checkNote(peer, type) != note else { return }
        let bytes = note == CheckNote() ? nil : try EngineNotes.encode(note)
        try setSyncNote(EngineNotes.check(peer, type), bytes)
    }
}
