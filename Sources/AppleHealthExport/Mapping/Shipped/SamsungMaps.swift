/// Maps of the files in which Samsung Health gives its users their data. Each file begins with a line that names its
/// type, and some of its columns have the name of a type as a prefix. Times are in UTC, and a column has the offset of
/// the place.
extension ImportMap {
    static let samsungTexts = [
        "samsung-weight": SamsungFile("com.samsung.health.weight", prefix: "com.samsung.health.weight").text(
            """
            {"type": "bodyMass", "value": {"column": $weight}, "unit": "kg",
             "id": {"column": $datauuid, "optional": true}},
            {"type": "bodyFatPercentage", "value": {"column": $body_fat, "percent": true}, "unit": "%",
             "optional": true, "syncIdentifier": {"column": $datauuid, "optional": true}}
            """),
        "samsung-height": SamsungFile("com.samsung.health.height", prefix: "com.samsung.health.height").text(
            identity: "id",
            """
            {"type": "height", "value": {"column": $height}, "unit": "cm"}
            """),
        "samsung-heart-rate": SamsungFile(
            "com.samsung.shealth.tracker.heart_rate", prefix: "com.samsung.health.heart_rate"
        ).text(
            identity: "id", hasEnd: true,
            """
            {"type": "heartRate", "value": {"column": $heart_rate}, "unit": "count/min",
             "skip": [{"column": $heart_rate, "equals": ["0", "0.0"]}]}
            """),
        "samsung-blood-pressure": SamsungFile(
            "com.samsung.shealth.blood_pressure", prefix: "com.samsung.health.blood_pressure"
        ).text(
            identity: "syncIdentifier", isGroup: true,
            """
            {"type": "bloodPressureSystolic", "value": {"column": $systolic}, "unit": "mmHg",
             "skip": [{"column": $systolic, "equals": ["0", "0.0"]}]},
            {"type": "bloodPressureDiastolic", "value": {"column": $diastolic}, "unit": "mmHg",
             "skip": [{"column": $diastolic, "equals": ["0", "0.0"]}]},
            {"type": "heartRate", "value": {"column": $pulse}, "unit": "count/min", "optional": true, "group": false,
             "skip": [{"column": $pulse, "equals": ["0", "0.0"]}]}
            """),
        "samsung-steps": SamsungFile(
            "com.samsung.shealth.tracker.pedometer_step_count", prefix: "com.samsung.health.step_count"
        ).text(
            identity: "syncIdentifier", hasEnd: true,
            """
            {"type": "stepCount", "value": {"column": $count}, "unit": "count"},
            {"type": "distanceWalkingRunning", "value": {"column": $distance}, "unit": "m", "optional": true}
            """),
        "samsung-steps-daily": samsungDailySteps,
        "samsung-sleep": SamsungFile("com.samsung.shealth.sleep", prefix: "com.samsung.health.sleep").text(
            identity: "id", hasEnd: true,
            """
            {"type": "sleepAnalysis", "value": "inBed"}
            """),
        "samsung-sleep-stages": SamsungFile(
            "com.samsung.health.sleep_stage", prefix: "com.samsung.health.sleep_stage"
        ).text(
            identity: "id", hasEnd: true,
            """
            {"type": "sleepAnalysis",
             "value": {
               "column": $stage,
               "table": {"40001": "awake", "40002": "asleepCore", "40003": "asleepDeep", "40004": "asleepREM"}
             }}
            """),
    ]

    /// The days of all devices together are the rows of the source -2; the others are parts of them. A day is given by
    /// the milliseconds to its beginning, as if it began in UTC.
    private static let samsungDailySteps = #"""
        {
          "description": "Samsung Health, com.samsung.shealth.step_daily_trend: the steps of each day",
          "skipLines": 1,
          "start": {"column": "day_time", "format": ["localDayMilliseconds", "yyyy-MM-dd[ 00:00:00][.000]", "iso8601"]},
          "end": {"duration": "localDay"},
          "created": {"column": "update_time", "zone": "UTC", "optional": true},
          "source": {
            "name": {"column": "pkg_name", "table": {"com.sec.android.app.shealth": "Samsung Health"},
                     "otherwise": "Samsung Health", "optional": true},
            "bundle": {"column": "pkg_name", "otherwise": "com.sec.android.app.shealth", "optional": true}
          },
          "id": {"column": "datauuid", "optional": true},
          "skip": [{"column": "source_type", "differsFrom": ["-2"], "optional": true}],
          "samples": [{"type": "stepCount", "value": {"column": "count"}, "unit": "count"}]
        }
        """#
}

/// A file of Samsung Health, to write its map.
private struct SamsungFile {
    let name: String
    let prefix: String

    init(_ name: String, prefix: String) {
        self.name = name
        self.prefix = prefix
    }

    /// Returns the names that a column may have, as JSON.
    private func column(_ name: some StringProtocol) -> String { #"["\#(prefix).\#(name)", "\#(name)"]"# }

    /// Returns the map.
    ///
    /// - Parameters:
    ///   - identity: the field that gets the id of a row: `id` if the row is one sample, `syncIdentifier` if it is
    ///     several; `nil` if each sample says so itself.
    ///   - samples: the samples as JSON, with `$name` for a column.
    func text(identity: String? = nil, hasEnd: Bool = false, isGroup: Bool = false, _ samples: String) -> String {
        var named = ""
        for (index, part) in samples.split(separator: "$", omittingEmptySubsequences: false).enumerated() {
            let name = part.prefix { $0.isLetter || $0 == "_" }
            named += index == 0 ? String(part) : column(name) + part.dropFirst(name.count)
        }
        let end = hasEnd ? #""end": {"column": \#(column("end_time")), "zone": "UTC"},"# : ""
        let identity =
            identity.map { #""\#($0)": {"column": \#(column("datauuid")), "optional": true},"# } ?? ""
        return #"""
            {
              "description": "Samsung Health, \#(name)",
              "skipLines": 1,
              "start": {"column": \#(column("start_time")), "zone": "UTC"},
              \#(end)
              "zone": {"column": \#(column("time_offset")), "unit": "milliseconds", "optional": true},
              "created": {"column": \#(column("update_time")), "zone": "UTC", "optional": true},
              "source": {
                "name": {"column": \#(column("pkg_name")), "table": {"com.sec.android.app.shealth": "Samsung Health"},
                         "otherwise": "Samsung Health", "optional": true},
                "bundle": {"column": \#(column("pkg_name")), "otherwise": "com.sec.android.app.shealth",
                           "optional": true}
              },
              "device": {"localIdentifier": {"column": \#(column("deviceuuid")), "optional": true}},
              \#(identity)
              "group": \#(isGroup),
              "samples": [\#(named)]
            }
            """#
    }
}
