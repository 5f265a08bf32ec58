import ColumnFormat
import Foundation
import Testing
import TestSupport

@testable import HealthKV

@Suite("Routes of workouts")
struct WorkoutRouteTests {
    private let watch = Source(bundle: "com.apple.health.watch", name: "Watch")
    private let start = Instant.day(3)

    private func workout(_ minutes: Range<Int>, _ source: Source? = nil) -> Sample {
        .workout(
            .running, from: start + .seconds(60 * minutes.lowerBound), to: start + .seconds(60 * minutes.upperBound),
            source: source ?? watch)
    }

    private func route(_ minutes: Range<Int>, _ source: Source? = nil) throws -> Sample {
        let points = minutes.map {
            WorkoutRoute.Point(at: start + .seconds(60 * $0), latitude: 47.3769, longitude: 8.5417 + Double($0) / 1_000)
        }
        return try #require(Sample(route: WorkoutRoute(points), source: source ?? watch))
    }

    @Test("A route belongs to the workouts that hold at least half of it, of its own source if there are such")
    func found() throws {
        let bare = Source(name: "Watch")
        try withStore { store in
            let (run, other) = (workout(0..<30), workout(0..<30, Source(bundle: "com.example.run", name: "Run")))
            var open = workout(100..<130)
            (open.end, open.quantity) = (.distantFuture, Quantity(10, .minute))
            // One, its own app by name alone, a half, too little, another app, a moment at the end, a phone's.
            let routes = [
                try route(1..<29), try route(25..<30, bare), try route(20..<41), try route(20..<42),
                try route(2..<5, other.source), try route(30..<31), try route(3..<9, Source(name: "Phone")),
                try route(102..<104), try route(109..<140),
            ]
            _ = try store.write { [open] in try $0.save([run, other, open] + routes) }
            let asked = [run, other, open, routes[0]]
            let found = try store.read { txn in try asked.map { try txn.routes(of: $0) } }
            let places = found.map { $0.compactMap { one in routes.firstIndex { $0.id == one.id } } }
            #expect(places == [[0, 6, 2, 1, 5], [4, 6], [7], []])
            #expect(found[0].first?.route?.points.count == 28)
            #expect(try store.read { try $0.sample(id: run.id) }?.route == nil)
            try store.expectClean()
        }
    }

    @Test("With a workout go its routes, but not those that another workout has too", arguments: 0..<4)
    func deleted(_ door: Int) throws {
        try withStore { store in
            var (run, walk) = (workout(0..<30), workout(20..<60))
            (run.origin, walk.origin) = (.imported, .imported)
            // The path of the run goes on for a moment when the walk has begun.
            let (own, shared, later) = (try route(1..<22), try route(21..<29), try route(40..<50))
            _ = try store.write { [run, walk] in try $0.save([run, walk, own, shared, later]) }
            try store.write { [run] txn in
                switch door {
                case 0: #expect(try txn.delete(id: run.id))
                case 1: #expect(try txn.delete(.ids([run.id])) == 2)
                case 2: #expect(try txn.hide(id: run.id))
                default:
                    let stored = try #require(try txn.sample(id: run.id))
                    try txn.delete([(stored, 1)])
                }
            }
            func left() throws -> Set<SampleID> {
                try store.read { Set(try $0.samples(of: .workoutRoute).map(\.id)) }
            }
            #expect(try left() == [shared.id, later.id])
            try store.write { [walk] in _ = try $0.delete(id: walk.id) }
            #expect(try left().isEmpty)
            try store.expectClean()
        }
    }

    @Test("What a sync only guesses to be gone, and what undoing takes back, leaves the route alone")
    func left() throws {
        try withStore { store in
            let (run, path) = (workout(0..<30), try route(1..<29))
            _ = try store.write { try $0.save([run, path]) }
            try store.write { _ = try $0.delete(id: run.id, version: 0) }
            #expect(try store.read { try $0.sample(id: path.id) } != nil)
            let others = [workout(50..<60), try route(51..<59)]
            let token = try store.write { txn in try txn.recordingUndo { _ = try $0.save(others) } }
            #expect(try store.write { try $0.undo(token) } == UndoReport(undeleted: 0, deleted: 2, left: 0))
            try store.expectClean()
        }
    }

    @Test("A route of a day and more is stored in one commit, read back, and undone with its workout")
    func long() throws {
        try withStore { store in
            var points: [WorkoutRoute.Point] = []
            for second in 0..<100_000 {
                let (north, east) = (Double(second % 977) / 1e6, Double(second % 1_009) / 1e6)
                points.append(
                    WorkoutRoute.Point(
                        at: start + .seconds(second), latitude: 47 + north, longitude: 8 + east, altitude: 400,
                        speed: Double(second % 31) / 10))
            }
            let long = try #require(Sample(route: WorkoutRoute(points), source: watch))
            let run = Sample.workout(.running, from: long.start, to: long.end, source: watch)
            _ = try store.write { try $0.save([run, long]) }
            let token = try store.write { txn in
                _ = try txn.delete(id: run.id)
                return txn.commit
            }
            #expect(try store.read { try $0.sample(id: long.id) } == nil)
            _ = try store.write { try $0.undo(commit: token) }
            #expect(try store.read { try $0.sample(id: long.id)?.route?.points } == points)
            try store.expectClean()
        }
    }

    @Test("Routes survive the form on disk bit for bit, and damaged ones are refused or read, and never trap")
    func encoding() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        func numbers(_ route: WorkoutRoute?) -> [[UInt64?]] {
            (route?.points ?? []).map { point in
                [UInt64(bitPattern: point.time.nanoseconds)] + point.bits
            }
        }
        for _ in 0..<300 {
            let route = RandomRoute.make(&random)
            let bytes = try #require(PayloadCoding.encode(nil, route))
            var sample = Sample(.workoutRoute, 1, .count, at: start)
            try PayloadCoding.decode(bytes, into: &sample)
            #expect(numbers(sample.route) == numbers(route), "seed \(seed)")
            #expect(PayloadCoding.encode(nil, sample.route) == bytes, "seed \(seed)")
            for length in 0..<bytes.count {
                #expect(throws: FormatError.self) { try PayloadCoding.decode(Array(bytes[..<length]), into: &sample) }
            }
            for _ in 0..<50 {
                var damaged = bytes
                damaged[random.number(0..<bytes.count)] = random.pick([0, 1, 0xFF, UInt8(random.number(0..<256))])
                try? PayloadCoding.decode(damaged, into: &sample)
            }
        }
    }

    @Test("What is no place on the earth, no time of a store or no route's type is refused")
    func refused() throws {
        let point = WorkoutRoute.Point(at: start, latitude: 1, longitude: 2)
        func refuses(_ change: (inout WorkoutRoute.Point) -> Void) throws {
            var changed = point
            change(&changed)
            let sample = try #require(Sample(route: WorkoutRoute([point, changed])))
            #expect(throws: ModelError.self) { try sample.validate() }
        }
        try refuses { $0.latitude = 90.5 }
        try refuses { $0.longitude = -181 }
        try refuses { $0.latitude = .nan }
        try refuses { $0.course = .infinity }
        try refuses { $0.time = .distantPast }
        #expect(Sample(route: WorkoutRoute([])) == nil)
        var steps = Sample(.stepCount, 1, .count, at: start)
        steps.route = WorkoutRoute([point])
        #expect(throws: ModelError.misplacedField("route")) { try steps.validate() }
        let many = try #require(
            Sample(route: WorkoutRoute(Array(repeating: point, count: WorkoutRoute.pointLimit + 1))))
        #expect(throws: ModelError.numberOutOfRange(field: "points of a route")) { try many.validate() }
        // A message says where the fault is, and not where the person was.
        #expect("\(WorkoutRoute([point]))" == "1 point")
    }
}

extension WorkoutRoute.Point {
    fileprivate var bits: [UInt64?] {
        [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, speed, course].map { $0?.bitPattern }
    }
}
