import HealthModel

/// Encodes the points of a workout's route by columns; equal routes have equal bytes.
///
/// ```
/// route     = kind (1): 2 route, number of points (4), times, then a column for each of latitude, longitude,
///             altitude, horizontal accuracy, vertical accuracy, speed, course
/// times     = decimals (1), then for each point the number of 10^decimals nanoseconds since the point before
/// column    = form (1): 0 no point has the number, 1 decimals, 2 doubles, 3 decimals in some points,
///             4 doubles in some points
///             for 3 and 4: a bit for each point, lowest first, set where the number is present
///             for 1 and 3: decimals (1), then for each number the difference of number * 10^decimals from the one
///             before
///             for 2 and 4: the doubles (8 each)
/// ```
///
/// Differences are integers of variable length: seven bits a byte, lowest first, zigzag.
enum RouteCoding {
    static let kind: UInt8 = 2

    private enum Form: UInt8 {
        case absent = 0
        case decimals = 1
        case doubles = 2
        case someDecimals = 3
        case someDoubles = 4
    }

    private static let mostDecimals = 9
    private static let powers: [Double] = (0...mostDecimals).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }
    /// Integers up to this one are exact as doubles.
    private static let greatestExact = 9e15

    static func encode(_ route: WorkoutRoute) -> [UInt8] {
        let points = route.points
        var writer = RecordWriter()
        writer.append(kind)
        writer.append(UInt32(points.count))
        write(times: points.map(\.time.nanoseconds), to: &writer)
        for field in fields { write(points.map { $0[keyPath: field] }, to: &writer) }
        return writer.bytes
    }

    /// Decodes what stands behind the kind.
    static func decode(_ reader: inout RecordReader) throws(FormatError) -> WorkoutRoute {
        let count = Int(try reader.read(UInt32.self))
        guard count <= WorkoutRoute.pointLimit else { throw FormatError(.invalid, "points of a route") }
        var points: [WorkoutRoute.Point] = []
        let unit = try power(&reader)
        var time: Int64 = 0
        for _ in 0..<count {
            let (product, isTooLarge) = try difference(&reader).multipliedReportingOverflow(by: Int64(unit))
            time &+= product
            guard !isTooLarge else { throw FormatError(.invalid, "times of a route") }
            points.append(WorkoutRoute.Point(at: Instant(nanoseconds: time), latitude: 0, longitude: 0))
        }
        for field in fields {
            let numbers = try numbers(&reader, count)
            for index in points.indices { points[index][keyPath: field] = numbers[index] }
        }
        let route = WorkoutRoute(points)
        guard (try? route.validate()) != nil else { throw FormatError(.invalid, "points of a route") }
        return route
    }

    /// The columns in their order. The first two are in every point.
    private static var fields: [WritableKeyPath<WorkoutRoute.Point, Double?>] {
        [\.latitudeIfAny, \.longitudeIfAny, \.altitude, \.horizontalAccuracy, \.verticalAccuracy, \.speed, \.course]
    }

    // MARK: Times

    private static func write(times: [Int64], to writer: inout RecordWriter) {
        var decimals = mostDecimals
        while decimals > 0, times.contains(where: { $0 % Int64(powers[decimals]) != 0 }) { decimals -= 1 }
        let unit = Int64(powers[decimals])
        writer.append(UInt8(decimals))
        var last: Int64 = 0
        for time in times {
            append(time / unit &- last, to: &writer)
            last = time / unit
        }
    }

    // MARK: Numbers

    private static func write(_ numbers: [Double?], to writer: inout RecordWriter) {
        let present = numbers.compactMap(\.self)
        guard !present.isEmpty else { return writer.append(Form.absent.rawValue) }
        let integers = integers(of: present)
        let isEverywhere = present.count == numbers.count
        let form: Form =
            integers == nil
            ? isEverywhere ? .doubles : .someDoubles : isEverywhere ? .decimals : .someDecimals
        writer.append(form.rawValue)
        if !isEverywhere { write(bits: numbers.map { $0 != nil }, to: &writer) }
        guard let integers else {
            for number in present { writer.append(number.bitPattern) }
            return
        }
        writer.append(UInt8(integers.decimals))
        var last: Int64 = 0
        for integer in integers.values {
            append(integer - last, to: &writer)
            last = integer
        }
    }

    private static func numbers(_ reader: inout RecordReader, _ count: Int) throws(FormatError) -> [Double?] {
        guard let form = Form(rawValue: try reader.read(UInt8.self)) else {
            throw FormatError(.unknown, "column of a route")
        }
        if form == .absent { return Array(repeating: nil, count: count) }
        var isPresent = Array(repeating: true, count: count)
        if form == .someDecimals || form == .someDoubles { try read(bits: &isPresent, &reader) }
        let power = form == .decimals || form == .someDecimals ? try power(&reader) : nil
        var (numbers, last): ([Double?], Int64) = ([], 0)
        for isThere in isPresent {
            guard isThere else {
                numbers.append(nil)
                continue
            }
            if let power {
                last &+= try difference(&reader)
                numbers.append(Double(last) / power)
            } else {
                numbers.append(Double(bitPattern: try reader.read(UInt64.self)))
            }
        }
        return numbers
    }

    /// Returns the numbers as integers with as few decimals as all of them need; `nil` if some has too many.
    private static func integers(of numbers: [Double]) -> (decimals: Int, values: [Int64])? {
        decimals: for decimals in 0...mostDecimals {
            let power = powers[decimals]
            var values: [Int64] = []
            for number in numbers {
                let scaled = (number * power).rounded()
                guard abs(scaled) <= greatestExact else { return nil }
                let value = Int64(scaled)
                guard (Double(value) / power).bitPattern == number.bitPattern else { continue decimals }
                values.append(value)
            }
            return (decimals, values)
        }
        return nil
    }

    private static func power(_ reader: inout RecordReader) throws(FormatError) -> Double {
        let decimals = Int(try reader.read(UInt8.self))
        guard decimals <= mostDecimals else { throw FormatError(.invalid, "decimals of a route") }
        return powers[decimals]
    }

    // MARK: Bits and integers

    private static func write(bits: [Bool], to writer: inout RecordWriter) {
        for start in stride(from: 0, to: bits.count, by: 8) {
            var byte: UInt8 = 0
            for (place, bit) in bits[start..<min(start + 8, bits.count)].enumerated() where bit {
                byte |= 1 << UInt8(place)
            }
            writer.append(byte)
        }
    }

    private static func read(bits: inout [Bool], _ reader: inout RecordReader) throws(FormatError) {
        var byte: UInt8 = 0
        for index in bits.indices {
            if index % 8 == 0 { byte = try reader.read(UInt8.self) }
            bits[index] = byte >> UInt8(index % 8) & 1 == 1
        }
    }

    private static func append(_ difference: Int64, to writer: inout RecordWriter) {
        var rest = UInt64(bitPattern: difference << 1 ^ difference >> 63)
        while rest >= 0x80 {
            writer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        writer.append(UInt8(rest))
    }

    private static func difference(_ reader: inout RecordReader) throws(FormatError) -> Int64 {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let byte = try reader.read(UInt8.self)
            guard shift < 63 || byte <= 1 else { throw FormatError(.invalid, "integer of a route") }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { break }
            shift += 7
        }
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }
}

extension WorkoutRoute.Point {
    /// The latitude, as a column has it. A column without it gives no number, which no point has.
    fileprivate var latitudeIfAny: Double? {
        get { latitude }
        set { latitude = newValue ?? .nan }
    }

    /// The longitude, likewise.
    fileprivate var longitudeIfAny: Double? {
        get { longitude }
        set { longitude = newValue ?? .nan }
    }
}
