// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The keys of metadata that the gateway reads or writes by name, with the texts that stand behind them.
public let HKMetadataKeySyncIdentifier = "HKMetadataKeySyncIdentifier"
public let HKMetadataKeySyncVersion = "HKMetadataKeySyncVersion"
public let HKMetadataKeyWasUserEntered = "HKWasUserEntered"
public let HKMetadataKeyTimeZone = "HKTimeZone"
