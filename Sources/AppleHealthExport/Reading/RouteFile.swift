import HealthModel

/// The points of a GPX file, as Apple Health writes one for each route.
struct RouteFile {
    private(set) var points: [WorkoutRoute.Point] = []
    /// How many points or numbers of points were left out, since they are damaged.
    private(set) var lost = 0

    /// Bytes that are read at once.
    private static let piece = 1 << 16
    /// A point that is longer than this counts as broken.
    private static let longestPoint = 1 << 14
    /// A file that is longer than this has more points than a route may have, or is none.
    private static let longestFile = WorkoutRoute.pointLimit << 10

    private static let start = Array("<trkpt".utf8)
    private static let end = Array("</trkpt>".utf8)

    /// Reads all points; `nil` if there are more than a route may have, or the file is longer than they are.
    static func read(_ source: some ByteSource) throws -> RouteFile? {
        var (source, file) = (source, RouteFile())
        var (buffer, isAtEnd, length): ([UInt8], Bool, Int) = ([], false, 0)
        while !isAtEnd {
            let count = try source.read(into: &buffer, atMost: piece)
            (isAtEnd, length) = (count == 0, length + count)
            buffer.removeFirst(file.take(buffer.span, isAtEnd: isAtEnd))
            guard file.points.count <= WorkoutRoute.pointLimit, length <= longestFile else { return nil }
        }
        return file
    }

    /// Takes all points that the bytes hold in full. Returns how many bytes are read.
    private mutating func take(_ bytes: borrowing Span<UInt8>, isAtEnd: Bool) -> Int {
        var place = 0
        while let from = bytes.firstPlace(of: RouteFile.start, from: place) {
            // A point without an end reaches to the next one.
            let next = bytes.firstPlace(of: RouteFile.start, from: from + 1)
            guard let close = bytes.firstPlace(of: RouteFile.end, from: from, to: next) else {
                if let next {
                    lost += 1
                    place = next
                    continue
                }
                guard isAtEnd || bytes.count - from > RouteFile.longestPoint else { return from }
                lost += 1
                return bytes.count
            }
            if let point = RouteFile.point(bytes, from + RouteFile.start.count..<close, &lost) {
                points.append(point)
            } else {
                lost += 1
            }
            place = close + RouteFile.end.count
        }
        // The name of a point may be cut.
        return max(place, bytes.count - RouteFile.start.count + 1)
    }

    private static func point(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ lost: inout Int
    ) -> WorkoutRoute.Point? {
        guard let head = bytes.firstPlace(of: [0x3E], from: range.lowerBound, to: range.upperBound),
            let latitude = attribute("lat", bytes, range.lowerBound..<head), abs(latitude) <= 90,
            let longitude = attribute("lon", bytes, range.lowerBound..<head), abs(longitude) <= 180,
            let written = content("time", bytes, head..<range.upperBound),
            let time = Instant(String(decoding: bytes.copied(written), as: UTF8.self)), time.isRepresentable
        else { return nil }
        func number(_ name: String) -> Double? {
            guard let range = content(name, bytes, head..<range.upperBound) else { return nil }
            let number = DecimalNumber.read(bytes, range)
            if number == nil { lost += 1 }
            return number
        }
        return WorkoutRoute.Point(
            at: time, latitude: latitude, longitude: longitude, altitude: number("ele"),
            horizontalAccuracy: number("hAcc"), verticalAccuracy: number("vAcc"), speed: number("speed"),
            course: number("course"))
    }

    private static func attribute(_ name: String, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Double? {
        for quote: UInt8 in [0x22, 0x27] {
            let key = Array(" \(name)=".utf8) + [quote]
            guard let start = bytes.firstPlace(of: key, from: range.lowerBound, to: range.upperBound),
                let end = bytes.firstPlace(of: [quote], from: start + key.count, to: range.upperBound)
            else { continue }
            return DecimalNumber.read(bytes, start + key.count..<end)
        }
        return nil
    }

    /// Returns where the content of an element within a point stands.
    private static func content(_ name: String, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
        let key = Array("<\(name)>".utf8)
        guard let start = bytes.firstPlace(of: key, from: range.lowerBound, to: range.upperBound),
            let end = bytes.firstPlace(of: [0x3C], from: start + key.count, to: range.upperBound)
        else { return nil }
        return start + key.count..<end
    }
}
