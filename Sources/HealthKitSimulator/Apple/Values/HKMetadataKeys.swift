// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The metadata keys that the gateway reads or writes by name, with their underlying strings.
public let HKMetadataKeySyncIdentifier = "HKMetadataKeySyncIdentifier"
public let HKMetadataKeySyncVersion = "HKMetadataKeySyncVersion"
public let HKMetadataKeyWasUserEntered = "HKWasUserEntered"
public let HKMetadataKeyTimeZone = "HKTimeZone"
