// A part of the module HealthKV where importers are fuzzed: they need its model and its reports, and no store.
@_exported import HealthModel
