import HealthKV

/// A workout as the tool prints it, and as `load` reads it back: what is empty is left out.
struct WorkoutRecord {
    let workout: Workout
    let zone: Zone

    func write(to sink: inout some JSONSink) {
        sink.beginObject()
        write(workout.activityType, to: &sink)
        let totals = [
            ("energy", workout.energy), ("distance", workout.distance), ("strokes", workout.strokes),
            ("flights", workout.flights),
        ]
        for (name, total) in totals { write(name, total, to: &sink) }
        write(workout.statistics, to: &sink)
        write(workout.events, to: &sink)
        if !workout.activities.isEmpty {
            sink.key("activities")
            sink.beginArray()
            for activity in workout.activities { write(activity, to: &sink) }
            sink.endArray()
        }
        sink.endObject()
    }

    private func write(_ type: WorkoutActivityType, to sink: inout some JSONSink) {
        if let name = type.name { sink.field("activity", name) } else { sink.field("activity", Int64(type.rawValue)) }
    }

    private func write(_ name: String, _ quantity: Quantity?, to sink: inout some JSONSink) {
        guard let quantity else { return }
        sink.key(name)
        sink.quantity(quantity)
    }

    private func write(_ activity: WorkoutActivity, to sink: inout some JSONSink) {
        sink.beginObject()
        sink.key(.id)
        sink.id(activity.id)
        write(activity.activityType, to: &sink)
        sink.field("start", activity.start, in: zone)
        sink.field("end", activity.end, in: zone)
        write("duration", activity.duration, to: &sink)
        writeMetadata(activity.metadata, to: &sink)
        write(activity.statistics, to: &sink)
        write(activity.events, to: &sink)
        sink.endObject()
    }

    private func write(_ statistics: [WorkoutStatistics], to sink: inout some JSONSink) {
        guard !statistics.isEmpty else { return }
        sink.key("statistics")
        sink.beginArray()
        for item in statistics {
            sink.beginObject()
            sink.field("type", item.type.identifier)
            sink.field("start", item.start, in: zone)
            sink.field("end", item.end, in: zone)
            write("sum", item.sum, to: &sink)
            write("average", item.average, to: &sink)
            write("minimum", item.minimum, to: &sink)
            write("maximum", item.maximum, to: &sink)
            sink.endObject()
        }
        sink.endArray()
    }

    private func write(_ events: [WorkoutEvent], to sink: inout some JSONSink) {
        guard !events.isEmpty else { return }
        sink.key("events")
        sink.beginArray()
        for event in events {
            sink.beginObject()
            sink.field("kind", Int64(event.kind.rawValue))
            sink.field("start", event.start, in: zone)
            sink.field("end", event.end, in: zone)
            writeMetadata(event.metadata, to: &sink)
            sink.endObject()
        }
        sink.endArray()
    }

    private func writeMetadata(_ metadata: [String: MetadataValue], to sink: inout some JSONSink) {
        guard !metadata.isEmpty else { return }
        sink.key("metadata")
        sink.metadata(metadata, in: zone)
    }
}

extension JSONSink {
    mutating func quantity(_ quantity: Quantity) {
        beginObject()
        key(.value)
        double(quantity.value)
        field("unit", quantity.unit.symbol)
        endObject()
    }

    /// Metadata by the order of its keys. A date and a quantity are objects, so that each kind reads back as itself.
    mutating func metadata(_ metadata: [String: MetadataValue], in zone: Zone) {
        beginObject()
        for name in metadata.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            key(name)
            switch metadata[name]! {
            case .string(let text): string(text)
            case .number(let number): double(number)
            case .bool(let flag): bool(flag)
            case .date(let date):
                beginObject()
                field("date", date, in: zone)
                endObject()
            case .quantity(let quantity): self.quantity(quantity)
            }
        }
        endObject()
    }
}
