/// What a planted peer does wrong, and the rule that must find it.
enum PeerFault: String, CaseIterable, Sendable {
    case saysItIsLocked, losesSources, confusesUnits, takesAllForItsOwn, endsEarly, anchorSkips, doubles, reorders
    case dropsDeletions, mixesTypes, ignoresTheBound
    case takesAnyToken, keepsItsOwnPlace, forgetsAtAcknowledgement, forgetsTokensAtTheEnd
    case losesIdentifiers, hidesReplacedVersions, hidesOwnDeletions
    case inventsOutcomes, answersBeforeItPushes, forgetsOutcomes, confusesOutcomes, failsTogether, tellsValues
    case forgetsVersions, mixesIdentifiersOfTypes, takesIdentifiersOfOthers, believesIDs
    case dropsPushedDeletions, obeysLateDeletions, buriesForGood, leavesUnnamedBehind
    case listsEarliestFirst, cutsEqualStarts, outlinesTooLittle, digestsNothing, deniesTypes, countsOtherDays
    case staysSilent, callsAllForgotten
    case skipsWhatWasAcknowledged, snapshotWithoutTail, takesLessThanItSays, confusesGroups
    case isSomebodyElseEachTime, welcomesAll

    /// Whether only a peer that keeps records can do it.
    var isOfRecords: Bool {
        switch self {
        case .digestsNothing, .deniesTypes, .callsAllForgotten, .isSomebodyElseEachTime, .welcomesAll: true
        default: false
        }
    }

    var rule: String {
        switch self {
        case .saysItIsLocked: "empty-feed"
        case .losesSources, .confusesUnits, .takesAllForItsOwn: "additions"
        case .endsEarly, .anchorSkips, .doubles: "pages"
        case .reorders: "order"
        case .dropsDeletions: "deletions"
        case .mixesTypes: "feed-of-type"
        case .ignoresTheBound: "from"
        case .takesAnyToken: "bad-token"
        case .keepsItsOwnPlace: "same-token"
        case .forgetsAtAcknowledgement: "acknowledged"
        case .forgetsTokensAtTheEnd: "reopened"
        case .losesIdentifiers: "echo"
        case .hidesReplacedVersions: "replacement"
        case .hidesOwnDeletions: "own-deletions"
        case .inventsOutcomes: "no-operations"
        case .answersBeforeItPushes: "save-twice"
        case .forgetsOutcomes, .confusesOutcomes: "outcomes"
        case .failsTogether: "bad-operation"
        case .tellsValues: "silence"
        case .forgetsVersions: "versions"
        case .mixesIdentifiersOfTypes: "types-apart"
        case .takesIdentifiersOfOthers: "apps-apart"
        case .believesIDs: "hints"
        case .dropsPushedDeletions: "delete-absent"
        case .obeysLateDeletions: "late-deletion"
        case .buriesForGood: "born-again"
        case .leavesUnnamedBehind: "unnamed"
        case .listsEarliestFirst: "enumeration"
        case .cutsEqualStarts: "equal-starts"
        case .outlinesTooLittle: "outlines"
        case .digestsNothing: "digests"
        case .deniesTypes: "types"
        case .countsOtherDays: "totals"
        case .staysSilent: "wake-ups"
        case .callsAllForgotten: "forgotten"
        case .skipsWhatWasAcknowledged: "older-token"
        case .snapshotWithoutTail: "meanwhile"
        case .takesLessThanItSays: "limits"
        case .confusesGroups: "groups"
        case .isSomebodyElseEachTime, .welcomesAll: "greeting"
        }
    }
}
