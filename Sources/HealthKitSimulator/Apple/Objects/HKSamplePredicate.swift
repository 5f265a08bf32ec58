import Foundation

public struct HKSamplePredicate<Sample> where Sample: HKSample {
    public let sampleType: HKSampleType
    public let nsPredicate: NSPredicate?

    public static func quantitySample(type quantityType: HKQuantityType, predicate: NSPredicate? = nil)
        -> HKSamplePredicate<HKQuantitySample>
    {
        HKSamplePredicate<HKQuantitySample>(sampleType: quantityType, nsPredicate: predicate)
    }

    public static func sample(type sampleType: HKSampleType, predicate: NSPredicate? = nil)
        -> HKSamplePredicate<HKSample>
    {
        HKSamplePredicate<HKSample>(sampleType: sampleType, nsPredicate: predicate)
    }

    var rule: SampleRule { SampleRule.rule(of: nsPredicate) }
}
