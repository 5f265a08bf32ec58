/// Reads what can be read of an element that is broken: its attributes by their names, however they are quoted.
struct ElementMender {
    /// The attributes that elements of an export have.
    private static let attributeNames: [[UInt8]] = [
        "type", "sourceName", "sourceVersion", "device", "unit", "creationDate", "startDate", "endDate", "value", "key",
        "workoutActivityType", "duration", "durationUnit", "totalDistance", "totalDistanceUnit", "totalEnergyBurned",
        "totalEnergyBurnedUnit", "totalSwimmingStrokeCount", "totalSwimmingStrokeCountUnit", "totalFlightsClimbed",
        "totalFlightsClimbedUnit", "date", "sum", "average", "minimum", "maximum",
        "dateComponents", "activeEnergyBurned", "activeEnergyBurnedGoal", "activeEnergyBurnedUnit", "appleMoveTime",
        "appleMoveTimeGoal", "appleExerciseTime", "appleExerciseTimeGoal", "appleStandHours", "appleStandHoursGoal",
    ].map { Array($0.utf8) }

    private static let metadata = Array("<MetadataEntry".utf8)

    /// Reads the broken element at the beginning of a range, with the metadata within it. Returns `nil` if there is not
    /// even a name, or if a value may be incomplete.
    func mend(_ bytes: borrowing Span<UInt8>, in range: Range<Int>) -> ExportElement? {
        var element = ExportElement()
        element.isMended = true
        element.range = range
        guard let end = addTag(bytes, in: range, depth: 0, to: &element) else { return nil }
        var place = end
        while let next = bytes.firstPlace(of: ElementMender.metadata, from: place, to: range.upperBound) {
            let following =
                bytes.firstPlace(of: ElementMender.metadata, from: next + 1, to: range.upperBound) ?? range.upperBound
            guard let end = addTag(bytes, in: next..<following, depth: 1, to: &element) else { return nil }
            place = end
        }
        return element
    }

    /// Writes a record or workout that was mended with its tag in the form in which it should stand. Returns `nil` for
    /// other elements, and if nothing stands within it.
    static func rewritten(_ element: ExportElement, _ bytes: borrowing Span<UInt8>) -> [UInt8]? {
        let tag = element.nodes[0].tag
        guard let name = TopLevel.name(bytes, element.nodes[0].name), name == .record || name == .workout,
            tag.upperBound < element.range.upperBound, bytes[tag.upperBound] == 0x3E,
            bytes[tag.upperBound - 1] != 0x2F
        else { return nil }
        let attributes = element.attributes[element.nodes[0].attributes]
        var text = Array("<\(name.rawValue)".utf8)
        for index in attributes.indices {
            let isEnd = index == element.secondStart
            guard let meant = isEnd ? ExportName.endDate.bytes : attributes[index].meant else { continue }
            // What stands twice in one tag has equal values.
            if !isEnd, attributes[..<index].contains(where: { $0.meant == meant }) { continue }
            text += [0x20] + meant + Array("=\"".utf8)
            for byte in bytes.copied(attributes[index].value) {
                text += byte == 0x22 ? Array("&quot;".utf8) : [byte]
            }
            text.append(0x22)
        }
        return text + bytes.copied(tag.upperBound..<element.range.upperBound)
    }

    /// Reads one tag, and appends its node. Returns where it ends; `nil` if a value of it may be incomplete.
    private func addTag(
        _ bytes: borrowing Span<UInt8>, in range: Range<Int>, depth: Int, to element: inout ExportElement
    ) -> Int? {
        var place = range.lowerBound + 1
        // A slash before the name of a tag with attributes is one too many.
        if place < range.upperBound, bytes[place] == 0x2F { place += 1 }
        let nameStart = place
        while place < range.upperBound, ElementScanner.isName(bytes[place]) { place += 1 }
        let name = nameStart..<place
        guard !name.isEmpty else { return nil }
        // The names and where they stand, before the values between them are cut.
        var starts: [(name: Range<Int>, known: Int, value: Int)] = []
        let end = tagEnd(bytes, from: place, in: range)
        while place < end {
            if isSpace(bytes[place]) || bytes[place] == 0x22 || bytes[place] == 0x27,
                let found = attribute(bytes, at: place + 1, before: end)
            {
                starts.append(found)
                place = found.value
            } else {
                place += 1
            }
        }
        let first = element.attributes.count
        for index in starts.indices {
            let limit = index + 1 < starts.count ? starts[index + 1].name.lowerBound : end
            // Without both quotes nobody knows whether the value is whole; a date shows it by its form.
            guard let value = cut(bytes, starts[index].value..<limit) else { return nil }
            element.attributes.append(
                ExportAttribute(
                    name: starts[index].name, value: value, isPlain: false,
                    meant: ElementMender.attributeNames[starts[index].known]))
        }
        if depth == 0 {
            findSecondStart(from: first, in: &element)
            // Attributes of another tag that has lost its bracket: nobody knows whose they are.
            let attributes = element.attributes[first...].map { ($0.meant ?? [], bytes.copied($0.value)) }
            if ElementMender.isOfSeveralTags(attributes) { return nil }
        }
        element.nodes.append(
            ExportNode(
                name: name, attributes: first..<element.attributes.count, depth: depth, tag: range.lowerBound..<end))
        return end
    }

    /// Whether attributes are those of more than one tag. One or two may stand twice in one tag, with equal values.
    private static func isOfSeveralTags(_ attributes: [(name: [UInt8], value: [UInt8])]) -> Bool {
        var values: [[UInt8]: [[UInt8]]] = [:]
        for (name, value) in attributes { values[name, default: []].append(value) }
        // A second start may be the end.
        if values[ExportName.startDate.bytes]?.count == 2, values[ExportName.endDate.bytes] == nil {
            values[ExportName.startDate.bytes] = nil
        }
        let repeated = values.filter { $0.value.count > 1 }
        return values[ExportName.key.bytes] != nil || repeated[ExportName.type.bytes] != nil
            || repeated.count > mostRepeated || repeated.values.contains { Set($0).count > 1 }
    }

    private static let mostRepeated = 2

    /// Returns where a tag ends: at the first `>` after which no attribute follows before the next `<`.
    private func tagEnd(_ bytes: borrowing Span<UInt8>, from start: Int, in range: Range<Int>) -> Int {
        var place = start
        while place < range.upperBound {
            if bytes[place] == 0x3E {
                let next = bytes.skippingSpace(from: place + 1)
                if next >= range.upperBound || bytes[next] == 0x3C { return place }
            }
            if bytes[place] == 0x0A {
                let next = bytes.skippingSpace(from: place + 1)
                if next < range.upperBound, bytes[next] == 0x3C { return place }
                place = next
                continue
            }
            place += 1
        }
        return range.upperBound
    }

    /// Returns the known attribute whose name begins at a place, possibly with spaces within the name.
    private func attribute(
        _ bytes: borrowing Span<UInt8>, at start: Int, before end: Int
    ) -> (name: Range<Int>, known: Int, value: Int)? {
        for (number, name) in ElementMender.attributeNames.enumerated() {
            var (place, index) = (start, 0)
            while place < end, index < name.count {
                if bytes[place] == name[index] { index += 1 } else if index == 0 || bytes[place] != 0x20 { break }
                place += 1
            }
            guard index == name.count else { continue }
            let nameEnd = place
            place = bytes.skippingSpace(from: place)
            guard place < end, bytes[place] == 0x3D else { continue }
            place = bytes.skippingSpace(from: place + 1)
            if place < end, bytes[place] == 0x22 || bytes[place] == 0x27 { place += 1 }
            return (start..<nameEnd, number, min(place, end))
        }
        return nil
    }

    /// Returns a value without what belongs to the tag: a quote, a slash, white space behind it. `nil` if a quote is
    /// missing.
    private func cut(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
        var end = range.upperBound
        while end > range.lowerBound, isSpace(bytes[end - 1]) || bytes[end - 1] == 0x2F || bytes[end - 1] == 0x3E {
            end -= 1
        }
        let opening = range.lowerBound > 0 ? bytes[range.lowerBound - 1] : 0
        if end > range.lowerBound, bytes[end - 1] == opening, opening == 0x22 || opening == 0x27 {
            return range.lowerBound..<end - 1
        }
        if end > range.lowerBound, bytes[end - 1] == 0x22 || bytes[end - 1] == 0x27 { end -= 1 }
        let value = range.lowerBound..<end
        return value.count == ExportDates.length && ExportDates.read(bytes, at: end - value.count) != nil ? value : nil
    }

    /// Exports of iOS 16 write the end of a record as a second start.
    private func findSecondStart(from first: Int, in element: inout ExportElement) {
        func places(of name: [UInt8]) -> [Int] {
            (first..<element.attributes.count).filter { element.attributes[$0].meant == name }
        }
        let starts = places(of: ExportName.startDate.bytes)
        if starts.count == 2, places(of: ExportName.endDate.bytes).isEmpty { element.secondStart = starts[1] }
    }
}
