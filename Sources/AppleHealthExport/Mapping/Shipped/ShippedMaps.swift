extension ImportMap {
    /// The names of the shipped maps, in order.
    public static let shippedNames: [String] = shippedTexts.keys.sorted()

    /// Returns a shipped map; `nil` for a name that is not among ``shippedNames``.
    ///
    /// ```swift
    /// import AppleHealthExport
    ///
    /// let map = ImportMap.shipped("samsung-heart-rate")
    /// ```
    public static func shipped(_ name: String) -> ImportMap? {
        shippedTexts[name].flatMap { try? ImportMap(json: Array($0.utf8)) }
    }

    /// The shipped maps as JSON, as a person would write them.
    static let shippedTexts: [String: String] =
        withingsTexts
        .merging(samsungTexts) { $1 }
        .merging(healthConnectTexts) { $1 }
        .merging(["healthkv": healthKVText]) { $1 }

    /// The CSV export of HealthKV.
    private static let healthKVText = #"""
        {
          "description": "The CSV export of HealthKV",
          "id": {"column": "id", "optional": true},
          "start": {"column": "start"},
          "end": {"column": "end", "optional": true},
          "source": {"name": {"column": "source"}, "bundle": {"column": "bundle", "optional": true}},
          "device": {"column": "device", "optional": true},
          "userEntered": {"column": "user_entered", "optional": true},
          "syncIdentifier": {"column": "sync_identifier", "optional": true},
          "version": {"column": "version", "optional": true},
          "group": {"column": "group", "optional": true},
          "metadataJSON": {"column": "metadata", "optional": true},
          "samples": [
            {"type": {"column": "type"}, "value": {"column": "value"}, "unit": {"column": "unit"}}
          ]
        }
        """#
}
