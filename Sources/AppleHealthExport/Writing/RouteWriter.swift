import HealthKV
import HealthModel

/// Writes the points of a route as a GPX file, in the form of Apple Health's exports.
enum RouteWriter {
    static func bytes(of route: WorkoutRoute) -> [UInt8] {
        var line = ExportLine(offset: 0)
        line.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        line.append("<gpx version=\"1.1\" creator=\"HealthKV\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n")
        line.append(" <trk>\n  <trkseg>\n")
        for point in route.points { append(point, to: &line) }
        line.append("  </trkseg>\n </trk>\n</gpx>\n")
        return line.bytes
    }

    private static func append(_ point: WorkoutRoute.Point, to line: inout ExportLine) {
        line.append("   <trkpt")
        line.attribute("lon", point.longitude)
        line.attribute("lat", point.latitude)
        line.append(">")
        append("ele", point.altitude, to: &line)
        line.append(raw: "<time>\(line.timestamp(point.time))</time>")
        let numbers = [
            ("speed", point.speed), ("course", point.course), ("hAcc", point.horizontalAccuracy),
            ("vAcc", point.verticalAccuracy),
        ]
        if numbers.contains(where: { $0.1 != nil }) {
            line.append("<extensions>")
            for (name, number) in numbers { append(name, number, to: &line) }
            line.append("</extensions>")
        }
        line.append("</trkpt>\n")
    }

    private static func append(_ name: String, _ number: Double?, to line: inout ExportLine) {
        guard let number else { return }
        line.append(raw: "<\(name)>\(ExportLine.decimal(number))</\(name)>")
    }
}
