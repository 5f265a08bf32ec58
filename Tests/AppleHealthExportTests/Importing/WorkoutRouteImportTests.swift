import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

@Suite("Routes of workouts in exports")
struct WorkoutRouteImportTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private static let file = "workout-routes/route_1.gpx"

    private static func workout(_ inside: String, source: String = "Watch") -> String {
        """
         <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min" \
        sourceName="\(source)" creationDate="\(Export.date(1, "08:31:00"))" \
        startDate="\(Export.date(1, "08:00:00"))" endDate="\(Export.date(1, "08:30:00"))">
        \(inside)
         </Workout>
        """
    }

    private static func route(_ reference: String? = "/" + file, metadata: String = "") -> String {
        let link = reference.map { "<FileReference path=\"\($0)\"/>" } ?? ""
        return """
              <WorkoutRoute sourceName="Watch" sourceVersion="10.1" creationDate="\(Export.date(1, "08:31:00"))" \
            startDate="\(Export.date(1, "08:00:02"))" endDate="\(Export.date(1, "08:29:58"))">
               \(metadata)\(link)
              </WorkoutRoute>
            """
    }

    private static func point(_ second: Int, _ numbers: String = "<ele>408.25</ele>") -> String {
        "<trkpt lon=\"8.54\(second)\" lat=\"47.376\(second)\">\(numbers)<time>2024-05-01T06:00:\(second)Z</time>"
            + "<extensions><speed>2.5</speed><course>12</course><hAcc>1.466094</hAcc><vAcc>1.2</vAcc></extensions>"
            + "</trkpt>\n"
    }

    private static func gpx(_ points: String) -> String {
        "<?xml version=\"1.0\"?>\n<gpx version=\"1.1\"><metadata><time>2024-06-01T08:00:00Z</time></metadata>"
            + "<trk><name>Route</name><trkseg>\n\(points)</trkseg></trk></gpx>\n"
    }

    private static let points = (10..<40).map { point($0) }.joined()

    /// Bytes that come in pieces.
    private struct Pieces: ByteSource {
        var rest: ArraySlice<UInt8>
        let length: Int

        mutating func read(into buffer: inout [UInt8], atMost count: Int) -> Int {
            let piece = rest.prefix(min(length, count))
            rest = rest.dropFirst(piece.count)
            buffer += piece
            return piece.count
        }
    }

    /// Makes the folder of an export, and imports it, or the archive of it.
    @discardableResult
    private func take(
        _ elements: [String], files: [String: String], isArchive: Bool = false, _ task: HealthImport = HealthImport(),
        quarantine: (HealthImport.QuarantinedPart) -> Void = { _ in }
    ) throws -> HealthImportReport {
        let path = bench.folder.path + "/\(UUID().uuidString)"
        if isArchive {
            let writer = try ZipWriter(to: path)
            try writer.beginEntry(name: "apple_health_export/export.xml")
            try writer.write(Array(Export.document(elements).utf8))
            for (name, text) in files {
                try writer.beginEntry(name: "apple_health_export/" + name)
                try writer.write(Array(text.utf8))
            }
            try writer.finish()
        } else {
            var files = files
            files["Export.xml"] = Export.document(elements)
            for (name, text) in files {
                let file = URL(fileURLWithPath: path + "/" + name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
        }
        return try task.run(path, into: bench.store, quarantine: quarantine)
    }

    @Test(
        "A workout of an archive or a folder has its route, and a second import adds nothing", arguments: [true, false])
    func taken(_ isArchive: Bool) throws {
        let elements = [Self.workout(Self.route(metadata: #"<MetadataEntry key="Shoe" value="blue"/>"#))]
        let files = [Self.file: Self.gpx(Self.points)]
        var report = try take(elements, files: files, isArchive: isArchive)
        #expect(report.inserted == 2 && report.mended == 0 && report.quarantined == 0 && report.keptOut.isEmpty)
        let run = try #require(try bench.samples(.workout).first)
        let routes = try bench.store.blockingRead { try $0.routes(of: run) }
        #expect(routes.count == 1 && routes.first?.metadata["Shoe"] == .string("blue"))
        #expect(routes.first?.start == Instant("2024-05-01T06:00:02Z") && routes.first?.quantity.value == 30)
        let first = routes.first?.route?.points.first
        #expect(
            first
                == WorkoutRoute.Point(
                    at: Instant("2024-05-01T06:00:10Z")!, latitude: 47.37610, longitude: 8.5410, altitude: 408.25,
                    horizontalAccuracy: 1.466094, verticalAccuracy: 1.2, speed: 2.5, course: 12))
        report = try take(elements, files: files, isArchive: !isArchive)
        #expect(report.inserted == 0 && report.unchanged == 2)
        // Who deletes the workout does not get its path back.
        try bench.store.write { _ = try $0.delete(id: run.id) }
        report = try take(elements, files: files)
        #expect(report.inserted == 0 && report.vetoed == 2)
        #expect(try bench.samples(.workoutRoute).isEmpty)
    }

    @Test("A file with damaged points is quarantined with its workout kept, and an intact file brings the route")
    func damagedPoints() throws {
        let bad = [
            Self.point(11, "<ele>high</ele>"), Self.point(12).replacing("lat=\"47", with: "lat=\"97"),
            Self.point(13).replacing("</trkpt>", with: ""), Self.point(14).replacing("T06:00", with: "T06-00"),
            Self.point(15).replacing("lon=", with: "lan="),
        ]
        for point in bad {
            let text = point + Self.point(16)
            let file = try #require(try RouteFile.read(Pieces(rest: Array(text.utf8)[...], length: 64)))
            #expect(file.lost == 1 && file.points.count == (point.contains("high") ? 2 : 1))
        }
        var parts: [HealthImport.QuarantinedPart] = []
        let whole = Self.point(10) + bad.joined() + Self.point(16)
        var report = try take(
            [Self.workout(Self.route())], files: [Self.file: Self.gpx(whole + "<trkpt lat=\"4")],
            quarantine: {
                parts.append($0)
            })
        #expect(report.inserted == 1 && report.mended == 0 && report.quarantined == 1)
        #expect(parts.map(\.reason) == ["a route of it: 6 of its points are damaged"])
        report = try take([Self.workout(Self.route())], files: [Self.file: Self.gpx(Self.points)])
        #expect(report.inserted == 1 && report.unchanged == 1)
        #expect(try bench.samples(.workoutRoute).first?.route?.points.count == 30)
    }

    @Test("Points are found wherever the pieces that are read begin", arguments: [1, 7, 100, 65_536])
    func pieces(_ length: Int) throws {
        let bytes = Array(Self.gpx(Self.points).utf8)
        let file = try #require(try RouteFile.read(Pieces(rest: bytes[...], length: length)))
        #expect(file.points.count == 30 && file.lost == 0)
        // A point without an end does not gather the rest of the file.
        let endless = Array((Self.point(10) + "<trkpt " + String(repeating: "x", count: 50_000) + Self.point(11)).utf8)
        let others = try #require(try RouteFile.read(Pieces(rest: endless[...], length: length)))
        #expect(others.points.count == 2 && others.lost == 1)
    }

    @Test("A route without a file, a file without points and a file without a route are counted as kept out")
    func keptOut() throws {
        var report = try take([Self.workout(Self.route())], files: [:])
        #expect(report.inserted == 1 && report.keptOut["WorkoutRoute"]?.count == 1)
        let empty = Self.gpx("")
        report = try take([Self.workout(Self.route())], files: [Self.file: empty])
        #expect(report.keptOut["WorkoutRoute"] == .init(count: 1, bytes: empty.utf8.count))
        let other = Self.gpx(Self.points)
        report = try take([Self.workout("")], files: ["workout-routes/other.gpx": other])
        #expect(report.keptOut["WorkoutRoute"] == .init(count: 1, bytes: other.utf8.count))
        report = try take([Self.workout(Self.route(nil))], files: [:])
        #expect(report.keptOut["WorkoutRoute"]?.count == 1)
        #expect(try bench.samples(.workoutRoute).isEmpty && bench.samples(.workout).count == 1)
    }

    @Test("A file in a folder of another name is found by its own name, and one of two that share it is not guessed")
    func moved() throws {
        let gpx = Self.gpx(Self.points)
        var report = try take([Self.workout(Self.route())], files: ["trainings-routen/route_1.gpx": gpx])
        #expect(report.inserted == 2 && report.keptOut.isEmpty)
        report = try take(
            [Self.workout(Self.route(), source: "Other")], files: ["a/route_1.gpx": gpx, "b/route_1.gpx": gpx])
        #expect(report.inserted == 1 && report.keptOut["WorkoutRoute"]?.count == 3)
    }

    @Test("A file that several routes name is read once, and a route without points is none, whatever is wrong with it")
    func sharedFile() throws {
        let route = Self.route()
        var report = try take([Self.workout(route + route + route)], files: [Self.file: Self.gpx(Self.points)])
        #expect(report.inserted == 2 && report.keptOut["WorkoutRoute"]?.count == 2)
        let damaged = route.replacing("startDate=\"2024", with: "startDate=\"20x4")
        report = try take([Self.workout(damaged)], files: [:])
        #expect(report.quarantined == 0 && report.keptOut["WorkoutRoute"]?.count == 1)
        report = try take([Self.workout(damaged)], files: [Self.file: Self.gpx(Self.points)])
        #expect(report.quarantined == 1 && report.inserted == 0)
    }

    @Test("A route that the phone wrote belongs to the workout of the watch that holds it")
    func ofAnotherSource() throws {
        let route = Self.route().replacing("sourceName=\"Watch\"", with: "sourceName=\"Phone\"")
        _ = try take([Self.workout(route)], files: [Self.file: Self.gpx(Self.points)])
        let run = try #require(try bench.samples(.workout).first)
        #expect(try bench.store.blockingRead { try $0.routes(of: run) }.count == 1)
        let path = bench.folder.path + "/out.zip"
        #expect(try HealthExport().write(bench.store, to: path).detailsLost == 0)
        let second = try ImportBench()
        #expect(try HealthImport().run(path, into: second.store).inserted == 2)
        try bench.store.write { _ = try $0.delete(id: run.id) }
        #expect(try bench.samples(.workoutRoute).isEmpty)
    }

    @Test(
        "An import that was interrupted starts over when the files of its routes have changed",
        arguments: [true, false])
    func resumed(_ isFolderFirst: Bool) throws {
        let path = bench.folder.path + "/export"
        let gpx = URL(fileURLWithPath: path + "/" + Self.file)
        try FileManager.default.createDirectory(at: gpx.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(Self.gpx(Self.points).utf8).write(to: gpx)
        let xml = path + "/export.xml"
        try Data(Export.document([Self.workout(Self.route()), Export.steps("12", day: 1)]).utf8)
            .write(to: URL(fileURLWithPath: xml))
        func mark(_ path: String) throws -> String { try #require(try ExportFile(path, expansion: nil).fingerprint) }
        let marks = [try mark(path), try mark(xml)]
        #expect(marks[0] != marks[1])
        try Data(Self.gpx(Self.point(10)).utf8).write(to: gpx)
        #expect(try mark(path) != marks[0] && mark(xml) == marks[1])
        for place in isFolderFirst ? [path, xml] : [xml, path] { _ = try HealthImport().run(place, into: bench.store) }
        #expect(try bench.samples(.workoutRoute).count == 1 && bench.samples(.stepCount).count == 1)
    }

    @Test("A file that cannot be read is quarantined, and the workout is kept")
    func damagedFile() throws {
        let path = bench.folder.path + "/damaged.zip"
        let writer = try ZipWriter(to: path)
        for (name, text) in [
            ("export.xml", Export.document([Self.workout(Self.route())])), (Self.file, Self.gpx(Self.points)),
        ] {
            try writer.beginEntry(name: name)
            try writer.write(Array(text.utf8))
        }
        try writer.finish()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // Compressed bytes of the second file, in front of the directory.
        let directory = try #require(bytes.indices.first { bytes[$0...].starts(with: [0x50, 0x4B, 1, 2]) })
        for place in directory - 120..<directory - 80 { bytes[place] ^= 0xFF }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var parts: [HealthImport.QuarantinedPart] = []
        let report = try HealthImport().run(path, into: bench.store, quarantine: { parts.append($0) })
        #expect(report.inserted == 1 && report.quarantined == 1)
        #expect(parts.map(\.reason) == ["a route of it: its file cannot be read"])
        #expect(try bench.samples(.workout).count == 1)
    }

    @Test("Routes come with their workouts where types are chosen, and read no file where they are not")
    func chosen() throws {
        var task = HealthImport()
        task.types = [.workout]
        let files = [Self.file: Self.gpx(Self.points)]
        #expect(try take([Self.workout(Self.route())], files: files, task).inserted == 2)
        task.types = [.stepCount]
        let report = try take([Self.workout(Self.route())], files: files, task)
        #expect(report.inserted == 0 && report.skipped == 2 && report.keptOut.isEmpty)
    }

    @Test("An archive gives a store back with its routes; XML alone counts them as lost, unless it is exact")
    func exported() throws {
        let files = [Self.file: Self.gpx(Self.points), "workout-routes/route_2.gpx": Self.gpx(Self.point(50))]
        let two = Self.route() + Self.route("/workout-routes/route_2.gpx").replacing("08:29:58", with: "08:29:59")
        _ = try take([Self.workout(two), Export.steps("12", day: 1)], files: files)
        let stored = try bench.samples(.workoutRoute).map(\.route)
        #expect(stored.count == 2)
        for (name, isExact) in [("out.zip", false), ("out.zip", true), ("out.xml", true), ("out.xml", false)] {
            var task = HealthExport()
            task.isExact = isExact
            let path = bench.folder.path + "/" + name
            let written = try task.write(bench.store, to: path, replacing: true)
            let isWhole = isExact || name == "out.zip"
            #expect(written.samples == 4 && written.routesLost == (isWhole ? 0 : 2), "\(name) \(isExact)")
            #expect(written.detailsLost == 0)
            let second = try ImportBench()
            let report = try HealthImport().run(path, into: second.store)
            #expect(report.inserted == (isWhole ? 4 : 2) && report.quarantined == 0, "\(name) \(isExact)")
            #expect(try second.samples(.workoutRoute).map(\.route) == (isWhole ? stored : []), "\(name) \(isExact)")
            // The same store gives the same bytes.
            let again = bench.folder.path + "/again-" + name
            try task.write(bench.store, to: again, replacing: true)
            #expect(FileManager.default.contentsEqual(atPath: path, andPath: again))
        }
    }

    @Test("A route without a workout is counted as lost, unless an export is exact")
    func orphan() throws {
        let point = WorkoutRoute.Point(at: Instant("2024-05-01T06:00:00Z")!, latitude: 1, longitude: 2)
        var route = try #require(Sample(route: WorkoutRoute([point]), source: Source(name: "Watch")))
        route.origin = .imported
        try bench.store.write { [route] in _ = try $0.save(route) }
        let report = try HealthExport().write(bench.store, to: bench.folder.path + "/out.zip")
        #expect(report.samples == 0 && report.routesLost == 1)
        var task = HealthExport()
        task.isExact = true
        let path = bench.folder.path + "/exact.xml"
        #expect(try task.write(bench.store, to: path).routesLost == 0)
        let second = try ImportBench()
        _ = try HealthImport().run(path, into: second.store)
        #expect(try second.samples(.workoutRoute).first?.route == route.route)
    }
}
