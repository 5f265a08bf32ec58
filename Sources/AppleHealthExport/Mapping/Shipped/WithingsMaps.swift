/// Maps of the files that Withings gives its users. Their times are local and name no zone, except in the files of the
/// trackers.
extension ImportMap {
    static let withingsTexts = [
        "withings-weight": withingsWeight, "withings-height": withingsHeight,
        "withings-blood-pressure": withingsBloodPressure, "withings-sleep": withingsSleep,
        "withings-steps-daily": withingsDailySteps,
        "withings-steps": withingsList("raw_tracker_steps.csv", #""type": "stepCount", "unit": "count""#),
        "withings-heart-rate": withingsList("raw_hr_hr.csv", #""type": "heartRate", "unit": "count/min""#),
        "withings-sleep-stages": withingsList(
            "raw_tracker_sleep-state.csv", #""type": "sleepAnalysis""#,
            table: #"{"0": "awake", "1": "asleepCore", "2": "asleepDeep", "3": "asleepREM"}"#),
    ]

    private static let withingsWeight = #"""
        {
          "description": "Withings, weight.csv",
          "start": {"column": "Date", "format": "yyyy-MM-dd HH:mm:ss"},
          "source": "Withings",
          "metadata": {"comment": {"column": "Comments", "optional": true}},
          "samples": [
            {
              "type": "bodyMass", "value": {"column": "Weight (kg)"}, "unit": "kg", "optional": true,
              "metadata": {
                "fatMass": {"column": "Fat mass (kg)", "kind": "quantity", "unit": "kg", "optional": true},
                "boneMass": {"column": "Bone mass (kg)", "kind": "quantity", "unit": "kg", "optional": true},
                "muscleMass": {"column": "Muscle mass (kg)", "kind": "quantity", "unit": "kg", "optional": true},
                "hydration": {"column": "Hydration (kg)", "kind": "quantity", "unit": "kg", "optional": true}
              }
            },
            {
              "type": "bodyMass", "value": {"column": "Weight (lb)"}, "unit": "lb", "optional": true,
              "metadata": {
                "fatMass": {"column": "Fat mass (lb)", "kind": "quantity", "unit": "lb", "optional": true},
                "boneMass": {"column": "Bone mass (lb)", "kind": "quantity", "unit": "lb", "optional": true},
                "muscleMass": {"column": "Muscle mass (lb)", "kind": "quantity", "unit": "lb", "optional": true},
                "hydration": {"column": "Hydration (lb)", "kind": "quantity", "unit": "lb", "optional": true}
              }
            },
            {"type": "leanBodyMass", "value": {"column": "Fat free mass (kg)"}, "unit": "kg", "optional": true},
            {"type": "leanBodyMass", "value": {"column": "Fat free mass (lb)"}, "unit": "lb", "optional": true},
            {
              "type": "bodyFatPercentage", "value": {"column": "Fat Ratio (%)", "percent": true}, "unit": "%",
              "optional": true
            }
          ]
        }
        """#

    private static let withingsHeight = #"""
        {
          "description": "Withings, height.csv",
          "start": {"column": "Date", "format": "yyyy-MM-dd HH:mm:ss"},
          "source": "Withings",
          "metadata": {"comment": {"column": "Comments", "optional": true}},
          "samples": [{"type": "height", "value": {"column": "Height (m)"}, "unit": "m"}]
        }
        """#

    private static let withingsBloodPressure = #"""
        {
          "description": "Withings, bp.csv",
          "start": {"column": "Date", "format": "yyyy-MM-dd HH:mm:ss"},
          "source": "Withings",
          "metadata": {"comment": {"column": "Comments", "optional": true}},
          "group": true,
          "samples": [
            {
              "type": "bloodPressureSystolic", "value": {"column": ["Systolic", "Systolic (mmHg)"]}, "unit": "mmHg"
            },
            {
              "type": "bloodPressureDiastolic", "value": {"column": ["Diastolic", "Diastolic (mmHg)"]}, "unit": "mmHg"
            },
            {
              "type": "heartRate", "value": {"column": ["Heart rate", "Heart rate (bpm)"]}, "unit": "count/min",
              "optional": true, "group": false
            }
          ]
        }
        """#

    /// The file tells how long each stage lasted, but not when: the stages are in another file.
    private static let withingsSleep = #"""
        {
          "description": "Withings, sleep.csv: the nights, without the times of their stages",
          "start": {"column": "from"},
          "end": {"column": "to"},
          "source": "Withings",
          "samples": [
            {
              "type": "sleepAnalysis", "value": "inBed",
              "metadata": {
                "lightSleep": {"column": "light (s)", "kind": "quantity", "unit": "s", "optional": true},
                "deepSleep": {"column": "deep (s)", "kind": "quantity", "unit": "s", "optional": true},
                "remSleep": {"column": "rem (s)", "kind": "quantity", "unit": "s", "optional": true},
                "awake": {"column": ["awake (s)", "wakeup (s)"], "kind": "quantity", "unit": "s", "optional": true}
              }
            }
          ]
        }
        """#

    private static let withingsDailySteps = #"""
        {
          "description": "Withings, aggregates_steps.csv: the steps of each day",
          "start": {"column": "date", "format": "yyyy-MM-dd"},
          "end": {"duration": "localDay"},
          "source": "Withings",
          "samples": [{"type": "stepCount", "value": {"column": "value"}, "unit": "count"}]
        }
        """#

    /// Returns the map of a file with a list of values, and of the seconds that each one lasts, in each row.
    private static func withingsList(_ file: String, _ sample: String, table: String? = nil) -> String {
        let meaning = table.map { #", "table": \#($0)"# } ?? ""
        return #"""
            {
              "description": "Withings, \#(file)",
              "start": {"column": "start"},
              "end": {"duration": {"column": "duration", "unit": "s"}},
              "source": "Withings",
              "samples": [{\#(sample), "value": {"column": "value"\#(meaning)}, "list": true}]
            }
            """#
    }
}
