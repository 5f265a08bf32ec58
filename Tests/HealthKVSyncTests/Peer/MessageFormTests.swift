import Foundation
import HealthKVSync
import Testing

/// Peers exchange the JSON of the messages over a network, and may be of different releases. A form that an older
/// release cannot read needs a new version of the protocol, ``PeerGreeting/currentVersion``.
@Suite("The form of the messages")
struct MessageFormTests {
    @Test("Each message of the protocol keeps its JSON", arguments: MessageForm.all)
    func keepsForm(form: MessageForm) throws {
        let written = try form.write()
        #expect(written == form.json, "\(form.name) is now written as \(written)")
        let read = try form.read(Data(form.json.utf8))
        #expect(read.isSame, "\(form.name) is read as \(read.again)")
        // Some types compare only a part of their fields.
        #expect(read.again == form.json, "\(form.name), once read, is written as \(read.again)")
    }

    @Test(
        "A message without a required field is refused, and one without an optional field is read",
        arguments: MessageForm.all)
    func missingFields(form: MessageForm) throws {
        guard let fields = try form.fields() else { return }
        #expect(form.optional.isSubset(of: fields.keys), "\(form.name) has the fields \(fields.keys.sorted())")
        for name in fields.keys.sorted() {
            var rest = fields
            rest[name] = nil
            let missing = try form.missingField(JSONSerialization.data(withJSONObject: rest))
            #expect(missing == (form.optional.contains(name) ? nil : name), "\(form.name) without \(name)")
        }
    }

    @Test("An outcome or an operation without its content is refused")
    func withoutContent() {
        for name in ["refused", "parked", "failed", "unknown", "busy"] {
            let json = Data(#"{"\#(name)":{}}"#.utf8)
            #expect(throws: DecodingError.self, "\(name)") { try JSONDecoder().decode(PushOutcome.self, from: json) }
        }
        for name in ["save", "delete"] {
            let json = Data(#"{"\#(name)":{}}"#.utf8)
            #expect(throws: DecodingError.self, "\(name)") {
                try JSONDecoder().decode(PushOperation.Kind.self, from: json)
            }
        }
    }

    @Test("A case that is not known is refused")
    func unknownCases() {
        let (text, object) = (Data(#""other""#.utf8), Data(#"{"other":{}}"#.utf8))
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PeerError.Code.self, from: text) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ParkReason.self, from: text) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PushOutcome.self, from: object) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PushOperation.Kind.self, from: object) }
    }

    /// The sides choose a common version by the greeting, so an old side must be able to read that of a new one.
    @Test("A greeting of a later version with a field that is not known yet is read")
    func laterGreeting() throws {
        let json = #"""
            {"epoch":2,"later":{"field":[1]},"oldest":1,"replica":7,"store":"\#(MessageForm.store)","version":9}
            """#
        let greeting = try JSONDecoder().decode(PeerGreeting.self, from: Data(json.utf8))
        var expected = PeerGreeting(store: MessageForm.store, replica: 7, epoch: 2)
        (expected.version, expected.oldest) = (9, 1)
        #expect(greeting == expected)
    }
}

/// A message and its JSON.
struct MessageForm: Sendable, CustomTestStringConvertible {
    let name: String
    /// The JSON with sorted keys.
    let json: String
    /// The fields that a message may lack.
    let optional: Set<String>
    /// Writes the message.
    let write: @Sendable () throws -> String
    /// Reads JSON. Returns whether it is the message, and how it is written again.
    let read: @Sendable (Data) throws -> (isSame: Bool, again: String)

    /// - Parameter json: the JSON; line breaks and the spaces after them are left out.
    init<Message: Codable & Equatable & Sendable>(
        _ name: String, _ message: Message, optional: Set<String> = [], _ json: String
    ) {
        self.name = name
        self.json = json.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
        self.optional = optional
        write = { try MessageForm.text(message) }
        read = { bytes in
            let read = try JSONDecoder().decode(Message.self, from: bytes)
            return (read == message, try MessageForm.text(read))
        }
    }

    var testDescription: String { name }

    /// Returns the fields of the message; `nil` if the JSON is no object.
    func fields() throws -> [String: Any]? {
        try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed) as? [String: Any]
    }

    /// Returns the field because of whose absence the JSON is refused; `nil` if it is read.
    func missingField(_ bytes: Data) throws -> String? {
        do {
            _ = try read(bytes)
            return nil
        } catch DecodingError.keyNotFound(let key, _) {
            return key.stringValue
        }
    }

    private static func text(_ message: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(message), as: UTF8.self)
    }

    static let all = parts + pulling + enumerating + pushing + meeting + access
}

// MARK: Values

extension MessageForm {
    static let store = SampleID("0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9")!
    private static let first = SampleID("11111111-1111-4111-8111-111111111111")!
    private static let second = SampleID("22222222-2222-4222-8222-222222222222")!
    private static let start = Instant("2026-02-01T07:00:00.125Z")!
    private static let end = Instant("2026-02-01T07:30:00.000000001Z")!
    private static let clock = ChangeClock(time: Instant("2026-02-01T08:00:00Z")!, replica: 7)
    private static let place = ChangeToken("kv1:\(store):3:9:4294967295:5")!
    private static let lastingPlace = ChangeToken("kv1:\(store):3:9:2:5:12:10")!

    private static let weight = Sample(
        .bodyMass, 72.4, .kilogram, at: start, source: Source(name: "Scale"), id: first, syncIdentifier: "w-1")
    private static let weightText = """
        {"end":"2026-02-01T07:00:00.125Z","id":"11111111-1111-4111-8111-111111111111","origin":"authored",
        "source":{"name":"Scale"},"start":"2026-02-01T07:00:00.125Z","syncIdentifier":"w-1","syncVersion":0,
        "type":"HKQuantityTypeIdentifierBodyMass","unit":"kg","value":72.4}
        """

    private static let deleted = DeletedSample(
        id: first, type: .bodyMass, source: SourceIdentity(bundle: "com.example.scale", name: "Scale"),
        syncIdentifier: "w-1", version: 4, modified: clock, group: "morning")
    private static let deletedText = """
        {"group":"morning","id":"11111111-1111-4111-8111-111111111111",
        "modified":{"replica":7,"time":"2026-02-01T08:00:00Z"},
        "source":{"bundle":"com.example.scale","name":"Scale"},"syncIdentifier":"w-1",
        "type":"HKQuantityTypeIdentifierBodyMass","version":4}
        """

    private static let pulled = PulledSample(weight, idAtPeer: second, isOwn: true)
    private static let pulledText = """
        {"idAtPeer":"22222222-2222-4222-8222-222222222222","isOwn":true,"sample":\(weightText)}
        """

    /// A sample with every field but `workout` and `reversion`, which no sample has together with the others.
    private static var edited: Sample {
        var sample = Sample(
            .bodyMass, 72.4, .kilogram, from: start, to: end,
            source: Source(
                bundle: "com.example.scale", name: "Scale", version: "1.2", product: "iPhone17,1", system: "26.1"),
            id: first, syncIdentifier: "w-1", version: 3, isUserEntered: true,
            device: Device(
                name: "My scale", manufacturer: "Example", model: "S", hardwareVersion: "2", firmwareVersion: "3",
                softwareVersion: "4", localIdentifier: "5", udiDeviceIdentifier: "6"),
            metadata: [
                "date": .date(end), "flag": .bool(true), "number": .number(1.5),
                "quantity": .quantity(Quantity(61.5, .kilocalorie)), "text": .string("in the kitchen"),
            ], group: "morning")
        sample.modified = clock
        sample.count = 2
        sample.multiplicity = 1
        sample.timeZone = "Asia/Kathmandu"
        sample.local = ["bodyFat": .number(0.25), "note": .string("before breakfast")]
        sample.original = Sample.Original(
            start: start, end: end, quantity: Quantity(159.5, .pound), isUserEntered: true,
            metadata: ["text": .string("at the gym")], version: 2, modified: clock)
        return sample
    }

    private static var reverted: Sample {
        var sample = weight
        sample.origin = .imported
        sample.reversion = Sample.Reversion(version: 5, modified: clock)
        return sample
    }

    private static let details = Workout(
        .swimBikeRun, energy: Quantity(812, .kilocalorie), distance: Quantity(1.5, .kilometer),
        strokes: Quantity(420, .count), flights: Quantity(3, .count),
        statistics: [
            WorkoutStatistics(
                .bodyMass, from: start, to: end, sum: Quantity(1.5, .kilogram), average: Quantity(2.5, .kilogram),
                minimum: Quantity(3.5, .kilogram), maximum: Quantity(4.5, .kilogram))
        ],
        events: [WorkoutEvent(.pause, from: start, to: end, metadata: ["flag": .bool(true)])],
        activities: [
            WorkoutActivity(
                .swimming, from: start, to: end, duration: Quantity(20.5, .second), id: second,
                metadata: ["flag": .bool(false)],
                statistics: [WorkoutStatistics(.bodyMass, from: start, to: end)],
                events: [WorkoutEvent(.resume, from: start, to: end)])
        ])
}

// MARK: Forms

extension MessageForm {
    /// What messages consist of.
    private static let parts = [
        MessageForm(
            "Sample", edited, optional: optionalFields,
            """
            {"count":2,
            "device":{"firmwareVersion":"3","hardwareVersion":"2","localIdentifier":"5","manufacturer":"Example",
                "model":"S","name":"My scale","softwareVersion":"4","udiDeviceIdentifier":"6"},
            "end":"2026-02-01T07:30:00.000000001Z","group":"morning","id":"11111111-1111-4111-8111-111111111111",
            "local":{"bodyFat":0.25,"note":"before breakfast"},
            "metadata":{"date":{"date":"2026-02-01T07:30:00.000000001Z"},"flag":true,"number":1.5,
                "quantity":{"unit":"kcal","value":61.5},"text":"in the kitchen"},
            "modified":"2026-02-01T08:00:00Z","multiplicity":1,"origin":"authored",
            "original":{"end":"2026-02-01T07:30:00.000000001Z","metadata":{"text":"at the gym"},
                "modified":"2026-02-01T08:00:00Z","replica":7,"start":"2026-02-01T07:00:00.125Z","syncVersion":2,
                "unit":"lb","userEntered":true,"value":159.5},
            "replica":7,
            "source":{"bundle":"com.example.scale","name":"Scale","product":"iPhone17,1","system":"26.1",
                "version":"1.2"},
            "start":"2026-02-01T07:00:00.125Z","syncIdentifier":"w-1","syncVersion":3,"timeZone":"Asia/Kathmandu",
            "type":"HKQuantityTypeIdentifierBodyMass","unit":"kg","userEntered":true,"value":72.4}
            """),
        MessageForm("Sample with few fields", [weight], "[\(weightText)]"),
        MessageForm(
            "Sample after a reversion", [reverted],
            """
            [{"end":"2026-02-01T07:00:00.125Z","id":"11111111-1111-4111-8111-111111111111",
            "reversion":{"modified":"2026-02-01T08:00:00Z","replica":7,"syncVersion":5},
            "source":{"name":"Scale"},"start":"2026-02-01T07:00:00.125Z","syncIdentifier":"w-1","syncVersion":0,
            "type":"HKQuantityTypeIdentifierBodyMass","unit":"kg","value":72.4}]
            """),
        MessageForm(
            "Sample of a workout", [Sample.workout(details, from: start, to: end, duration: 1_750, id: first)],
            """
            [{"end":"2026-02-01T07:30:00.000000001Z","id":"11111111-1111-4111-8111-111111111111",
            "origin":"authored","start":"2026-02-01T07:00:00.125Z","type":"HKWorkoutTypeIdentifier","unit":"s",
            "value":1750,
            "workout":{
                "activities":[{"activity":"swimming","duration":{"unit":"s","value":20.5},
                    "end":"2026-02-01T07:30:00.000000001Z",
                    "events":[{"end":"2026-02-01T07:30:00.000000001Z","kind":2,
                        "start":"2026-02-01T07:00:00.125Z"}],
                    "id":"22222222-2222-4222-8222-222222222222","metadata":{"flag":false},
                    "start":"2026-02-01T07:00:00.125Z",
                    "statistics":[{"end":"2026-02-01T07:30:00.000000001Z","start":"2026-02-01T07:00:00.125Z",
                        "type":"HKQuantityTypeIdentifierBodyMass"}]}],
                "activity":"swimBikeRun","distance":{"unit":"km","value":1.5},"energy":{"unit":"kcal","value":812},
                "events":[{"end":"2026-02-01T07:30:00.000000001Z","kind":1,"metadata":{"flag":true},
                    "start":"2026-02-01T07:00:00.125Z"}],
                "flights":{"unit":"count","value":3},
                "statistics":[{"average":{"unit":"kg","value":2.5},"end":"2026-02-01T07:30:00.000000001Z",
                    "maximum":{"unit":"kg","value":4.5},"minimum":{"unit":"kg","value":3.5},
                    "start":"2026-02-01T07:00:00.125Z","sum":{"unit":"kg","value":1.5},
                    "type":"HKQuantityTypeIdentifierBodyMass"}],
                "strokes":{"unit":"count","value":420}}}]
            """),
        MessageForm("DeletedSample", deleted, optional: ["group", "syncIdentifier"], deletedText),
        MessageForm("SampleID", [first, store], #"["\#(first)","0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9"]"#),
        MessageForm(
            "SampleType", [SampleType.every, .bodyMass, SampleType("com.example.mood")],
            #"["*","HKQuantityTypeIdentifierBodyMass","com.example.mood"]"#),
        MessageForm(
            "ChangeToken", [place, lastingPlace],
            """
            ["kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:4294967295:5",
            "kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:2:5:12:10"]
            """),
    ]

    /// What a sample may lack: everything but type, start, value and unit. Another id is made for a sample without one.
    private static let optionalFields: Set = [
        "count", "device", "end", "group", "id", "local", "metadata", "modified", "multiplicity", "origin", "original",
        "replica", "source", "syncIdentifier", "syncVersion", "timeZone", "userEntered",
    ]

    private static let pulling = [
        MessageForm(
            "PullRequest", PullRequest(type: .bodyMass, token: [1, 255], from: start, limit: 3),
            optional: ["from", "token"],
            """
            {"from":"2026-02-01T07:00:00.125Z","limit":3,"token":[1,255],"type":"HKQuantityTypeIdentifierBodyMass"}
            """),
        MessageForm("PullRequest from the beginning", PullRequest(type: .every), #"{"limit":1000,"type":"*"}"#),
        MessageForm(
            "PullPage",
            PullPage(
                additions: [pulled], deletions: [PulledDeletion(idAtPeer: second)], token: [0, 9], isDrained: false,
                isSnapshot: true), optional: ["token"],
            """
            {"additions":[\(pulledText)],"deletions":[{"idAtPeer":"22222222-2222-4222-8222-222222222222"}],
            "isDrained":false,"isSnapshot":true,"token":[0,9]}
            """),
        MessageForm(
            "PullPage without content", PullPage(additions: [], token: nil, isDrained: true),
            #"{"additions":[],"deletions":[],"isDrained":true,"isSnapshot":false}"#),
        MessageForm("PulledSample", pulled, pulledText),
        MessageForm(
            "PulledDeletion", PulledDeletion(deleted), optional: ["group", "record", "syncIdentifier", "version"],
            """
            {"group":"morning","idAtPeer":"11111111-1111-4111-8111-111111111111","record":\(deletedText),
            "syncIdentifier":"w-1","version":4}
            """),
    ]

    private static let enumerating = [
        MessageForm(
            "EnumerationRequest",
            EnumerationRequest(
                type: .bodyMass, window: TimeRange(from: start, to: end), cursor: [7], limit: 9,
                syncIdentifiers: ["w-1"]), optional: ["cursor", "syncIdentifiers"],
            """
            {"cursor":[7],"limit":9,"syncIdentifiers":["w-1"],"type":"HKQuantityTypeIdentifierBodyMass",
            "window":{"from":"2026-02-01T07:00:00.125Z","to":"2026-02-01T07:30:00.000000001Z"}}
            """),
        MessageForm(
            "EnumerationRequest for all time", EnumerationRequest(type: .bodyMass),
            """
            {"limit":1000,"type":"HKQuantityTypeIdentifierBodyMass",
            "window":{"from":"0001-01-01T00:00:00Z","to":"4001-01-01T00:00:00Z"}}
            """),
        MessageForm(
            "EnumerationPage", EnumerationPage(samples: [pulled], cursor: [1]), optional: ["cursor"],
            #"{"cursor":[1],"samples":[\#(pulledText)]}"#),
        MessageForm(
            "DailyTotalRequest",
            DailyTotalRequest(type: .stepCount, days: ["2026-01-13", "2026-01-14"], zone: "Asia/Kathmandu"),
            """
            {"days":["2026-01-13","2026-01-14"],"type":"HKQuantityTypeIdentifierStepCount","zone":"Asia/Kathmandu"}
            """),
        MessageForm(
            "DayReading", DayReading(day: "2026-01-13", quantity: Quantity(3.5, .count)), optional: ["quantity"],
            #"{"day":"2026-01-13","quantity":{"unit":"count","value":3.5}}"#),
        MessageForm(
            "SyncDigest", SyncDigest(count: 3, sum: .max), #"{"count":3,"sum":18446744073709551615}"#),
    ]

    private static let pushing = [
        MessageForm(
            "PushOperation that saves",
            PushOperation(
                sequence: 9, kind: .save(weight), idAtPeer: second, replacesUnnamed: true, group: [weight],
                place: place, told: place), optional: ["idAtPeer", "place", "told"],
            """
            {"group":[\(weightText)],"idAtPeer":"22222222-2222-4222-8222-222222222222",
            "kind":{"save":{"_0":\(weightText)}},
            "place":"kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:4294967295:5","replacesUnnamed":true,
            "sequence":9,"told":"kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:4294967295:5"}
            """),
        MessageForm(
            "PushOperation that deletes", PushOperation(sequence: 0, kind: .delete(deleted)),
            """
            {"group":[],"kind":{"delete":{"_0":\(deletedText)}},"replacesUnnamed":false,"sequence":0}
            """),
        MessageForm(
            "PushOutcome",
            [
                PushOutcome.done(), .done(idAtPeer: second), .superseded, .refused(reason: "no such type"),
                .parked(.locked), .failed(reason: "the disk is full"), .unknown(reason: "no reply"),
                .busy(retryAfter: .milliseconds(1_500)),
            ],
            """
            [{"done":{}},{"done":{"idAtPeer":"22222222-2222-4222-8222-222222222222"}},{"superseded":{}},
            {"refused":{"reason":"no such type"}},{"parked":{"_0":"locked"}},
            {"failed":{"reason":"the disk is full"}},{"unknown":{"reason":"no reply"}},
            {"busy":{"retryAfter":[0,1500000000000000000]}}]
            """),
        MessageForm("ParkReason", ParkReason.allCases, #"["unauthorized","locked","unavailable"]"#),
    ]

    private static let meeting = [
        MessageForm(
            "PeerGreeting", greeting, optional: ["isNameTakenOver", "isSuperseded", "limits"],
            """
            {"epoch":2,"isNameTakenOver":true,"isSuperseded":true,"limits":{"operations":100},"oldest":2,
            "replica":4294967295,"store":"0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9","version":3}
            """),
        MessageForm(
            "PeerMemory", PeerMemory(place: place, read: lastingPlace), optional: ["place", "read"],
            """
            {"place":"kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:4294967295:5",
            "read":"kv1:0A1B2C3D-4E5F-4061-8273-8495A6B7C8D9:3:9:2:5:12:10"}
            """),
        // A duration is a number of attoseconds in two parts of 64 bits, the high one first.
        MessageForm(
            "PeerLimits", PeerLimits(operations: 1_000, page: 5, deadline: .seconds(30)),
            optional: ["deadline", "operations", "page"],
            #"{"deadline":[1,11553255926290448384],"operations":1000,"page":5}"#),
        MessageForm("PeerLimits without a limit", PeerLimits(), "{}"),
        MessageForm(
            "DatabaseTraits", DatabaseTraits(takesImports: true, givesDailyTotals: true),
            """
            {"givesDailyTotals":true,"hidesUnreadable":false,"needsAuthorization":false,"takesImports":true}
            """),
        MessageForm(
            "PeerError", PeerError(.transient, "the server is busy", retryAfter: .seconds(5)),
            optional: ["retryAfter"],
            #"{"code":"transient","detail":"the server is busy","retryAfter":[0,5000000000000000000]}"#),
        MessageForm(
            "PeerError.Code",
            [
                PeerError.Code.notDetermined, .unauthorized, .locked, .unavailable, .restricted, .tokenExpired,
                .wentBackwards, .readerWentBackwards, .invalid, .transient, .badAnswer, .nameTaken,
            ],
            """
            ["notDetermined","unauthorized","locked","unavailable","restricted","tokenExpired","wentBackwards",
            "readerWentBackwards","invalid","transient","badAnswer","nameTaken"]
            """),
    ]

    private static var greeting: PeerGreeting {
        var greeting = PeerGreeting(store: store, replica: .max, epoch: 2)
        (greeting.version, greeting.oldest) = (3, 2)
        (greeting.isNameTakenOver, greeting.isSuperseded) = (true, true)
        greeting.limits = PeerLimits(operations: 100)
        return greeting
    }

    private static let access = [
        // The order of types in a set is not fixed, so there is one in each.
        MessageForm(
            "AuthorizationRequest", AuthorizationRequest(read: [.bodyMass], write: [.stepCount]),
            #"{"read":["HKQuantityTypeIdentifierBodyMass"],"write":["HKQuantityTypeIdentifierStepCount"]}"#),
        MessageForm(
            "TypeAuthorization",
            TypeAuthorization(writing: .denied, reading: .granted, advice: .shouldRequest, earliest: start),
            optional: ["earliest"],
            """
            {"advice":"shouldRequest","earliest":"2026-02-01T07:00:00.125Z","reading":"granted","writing":"denied"}
            """),
        MessageForm(
            "TypeAuthorization.Writing", [TypeAuthorization.Writing.notDetermined, .denied, .granted],
            #"["notDetermined","denied","granted"]"#),
        MessageForm(
            "TypeAuthorization.Reading", [TypeAuthorization.Reading.unknown, .denied, .granted],
            #"["unknown","denied","granted"]"#),
        MessageForm(
            "TypeAuthorization.Advice", [TypeAuthorization.Advice.unknown, .shouldRequest, .unnecessary],
            #"["unknown","shouldRequest","unnecessary"]"#),
        MessageForm(
            "PeerAvailability", [PeerAvailability.available, .unavailable, .restricted, .locked],
            #"["available","unavailable","restricted","locked"]"#),
        MessageForm(
            "ReadAccess", ReadAccess.allCases,
            #"["notDetermined","noDataOrDenied","readable","suspectedRevoked"]"#),
        MessageForm(
            "AccessState", AccessState.allCases, #"["notDetermined","authorized","denied","notAvailable"]"#),
    ]
}
