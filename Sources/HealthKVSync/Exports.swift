// An app that syncs needs the store's and the model's names too.
@_exported import HealthKV
