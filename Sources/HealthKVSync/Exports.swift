// An app that syncs also needs the names of the store and of the model.
@_exported import HealthKV
