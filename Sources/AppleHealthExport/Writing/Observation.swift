/// An Observation of FHIR R4, as far as samples have something to say. The names are those of the standard.
struct Observation: Encodable {
    struct Coding: Encodable, Equatable {
        var system: String
        var code: String
        var display: String?
    }

    struct Concept: Encodable, Equatable {
        var coding: [Coding]?
        var text: String?
    }

    struct Identifier: Encodable {
        var system = "urn:ietf:rfc:3986"
        var value: String
    }

    struct Reference: Encodable {
        var reference: String?
        var display: String?
    }

    struct Period: Encodable {
        var start: String
        var end: String?
    }

    struct Amount: Encodable {
        var value: Double
        var unit: String
        var system: String?
        var code: String?
    }

    struct Component: Encodable {
        var code: Concept
        var valueQuantity: Amount?
        var valueCodeableConcept: Concept?
    }

    let resourceType = "Observation"
    var id: String
    var identifier: [Identifier]
    var status: String
    var category: [Concept]?
    var code: Concept
    var subject: Reference?
    var effectiveDateTime: String?
    var effectivePeriod: Period?
    var issued: String?
    var valueQuantity: Amount?
    var valueCodeableConcept: Concept?
    var dataAbsentReason: Concept?
    var device: Reference?
    var component: [Component]?

    private enum CodingKeys: CodingKey {
        case resourceType, id, identifier, status, category, code, subject, effectiveDateTime, effectivePeriod, issued
        case valueQuantity, valueCodeableConcept, dataAbsentReason, device, component
    }
}

/// A page of Observations.
struct ObservationBundle: Encodable {
    struct Entry: Encodable {
        var fullUrl: String
        var resource: Observation
    }

    let resourceType = "Bundle"
    let type = "collection"
    var entry: [Entry]

    private enum CodingKeys: CodingKey { case resourceType, type, entry }
}
