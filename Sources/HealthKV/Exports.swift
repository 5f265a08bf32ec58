// An app that links the store needs the model's names too.
@_exported import HealthModel
