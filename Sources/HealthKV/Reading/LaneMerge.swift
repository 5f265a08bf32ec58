/// The next rows of one lane, as one of several whose rows are merged.
protocol MergedLane {
    associatedtype Place

    /// The place of the next row; `nil` if there is none.
    var head: Place? { get }

    /// Returns `true` if a row at one place comes before a row at another.
    func comes(_ place: Place, before other: Place) -> Bool
}

/// Merges the lanes of a type: a type has a lane for each duration class, and readers want all rows in one order.
enum LaneMerge {
    /// Returns the lane with the next row, and the place of the next row among all other lanes, before which that lane
    /// has the turn; `nil` if no lane has a row. Of two equal places, the one of the earlier lane comes first.
    @inline(__always)
    static func turn<Lane: MergedLane>(of lanes: [Lane]) -> (lane: Int, rival: Lane.Place?)? {
        var best: (lane: Int, place: Lane.Place)?
        var rival: Lane.Place?
        for index in lanes.indices {
            guard let place = lanes[index].head else { continue }
            guard let found = best else {
                best = (index, place)
                continue
            }
            let isFirst = lanes[index].comes(place, before: found.place)
            let loser = isFirst ? found.place : place
            if isFirst { best = (index, place) }
            if let known = rival, !lanes[index].comes(loser, before: known) { continue }
            rival = loser
        }
        return best.map { ($0.lane, rival) }
    }
}
