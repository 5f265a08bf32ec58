/// Maps of what `sqlite3 -csv` prints of an export of Health Connect, by the queries of docs/IMPORT-MAPS.md.
extension ImportMap {
    static let healthConnectTexts = [
        "health-connect-steps": healthConnect(
            "steps_record_table", start: "start_time", end: "end_time", isSingle: true,
            #"{"type": "stepCount", "value": {"column": "count"}, "unit": "count"}"#),
        "health-connect-weight": healthConnect(
            "weight_record_table", start: "time", end: nil, isSingle: true,
            #"{"type": "bodyMass", "value": {"column": "weight"}, "unit": "g"}"#),
        "health-connect-heart-rate": healthConnect(
            "heart_rate_record_series_table", start: "epoch_millis", end: nil, isSingle: false,
            #"{"type": "heartRate", "value": {"column": "beats_per_minute"}, "unit": "count/min"}"#),
    ]

    /// Returns the map of a table.
    ///
    /// - Parameter isSingle: whether a record is one sample, which then has its identity; else a record has many
    ///   samples, and the query makes a sync identifier for each.
    private static func healthConnect(
        _ table: String, start: String, end: String?, isSingle: Bool, _ sample: String
    ) -> String {
        let end = end.map { #""end": {"column": "\#($0)", "format": "epochMilliseconds"},"# } ?? ""
        let identity =
            isSingle
            ? #""id": {"column": "uuid"}, "syncIdentifier": {"column": "client_record_id", "optional": true},"#
            : #""syncIdentifier": {"column": "sync_identifier"},"#
        return #"""
            {
              "description": "Health Connect, \#(table)",
              \#(identity)
              "version": {"column": "client_record_version", "optional": true},
              "start": {"column": "\#(start)", "format": "epochMilliseconds"},
              \#(end)
              "created": {"column": "last_modified_time", "format": "epochMilliseconds", "optional": true},
              "zone": {"column": "zone_offset", "unit": "seconds", "optional": true},
              "source": {
                "name": {"column": "app_name", "optional": true}, "bundle": {"column": "package_name"}
              },
              "device": {
                "manufacturer": {"column": "manufacturer", "optional": true},
                "model": {"column": "model", "optional": true}
              },
              "userEntered": {
                "column": "recording_method", "optional": true,
                "table": {"0": false, "1": false, "2": false, "3": true}
              },
              "samples": [\#(sample)]
            }
            """#
    }
}
