import Testing

@testable import kvinspect

@Suite("Cells")
struct CellTextTests {
    @Test("A text that is too wide ends in an ellipsis; ideographs take two columns")
    func cut() {
        #expect(CellText.cut("Phone", to: 5) == "Phone")
        #expect(CellText.cut("Phones", to: 5) == "Phon…")
        #expect(CellText.width(of: "小米手环") == 8 && CellText.width(of: "café") == 4 && CellText.width(of: "⌚️") == 1)
        #expect(CellText.cut("小米手环", to: 8) == "小米手环")
        #expect(CellText.cut("小米手环", to: 6) == "小米…" && CellText.cut("小米手环", to: 5) == "小米…")
    }

    @Test("Sizes have two or three digits and a unit")
    func sizes() {
        for (bytes, text) in [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (4_444_444, "4.4 MB"), (99_949, "99.9 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"), (999_500, "1.0 MB"), (34_359_738_368, "34.4 GB"), (5_000_000_000_000, "5.0 TB"),
        ] {
            #expect(ByteSize.text(bytes) == text)
        }
    }

    @Test("The time left is rounded up")
    func timeLeft() {
        #expect(Progress.text(secondsLeft: 0.2) == "1 s left" && Progress.text(secondsLeft: 59.5) == "1 min 0 s left")
        #expect(Progress.text(secondsLeft: 3_725) == "1 h 2 min left")
        #expect(Progress.text(secondsLeft: .infinity) == "days left")
    }

    @Test("A table that fits into a limit cuts ids first, and then the widest text")
    func fits() {
        var table = Table(columns: ["name", "id", "bytes"], sizes: ["bytes"], limit: 30, isStyled: false)
        var lines = table.append([.string("twelve letters"), .string("0123456789ABCDEF"), .integer(4_400_000)])
        lines += table.finish()
        #expect(
            lines == [
                "name" + String(repeating: " ", count: 10) + "id" + String(repeating: " ", count: 9) + "bytes",
                "twelve lett…  0123456…  4.4 MB",
            ])
        // Later rows keep the widths that the first rows gave.
        #expect(table.append([.string("a name that is far longer"), .string("1"), .integer(1)])[0].count <= 30)
    }

    @Test("Names that are near: without regard to case, with few edits, or with the same beginning")
    func near() {
        let names = ["stepCount", "heartRate", "heartRateVariabilitySDNN", "bodyMass"]
        #expect(Suggestion.near(to: "STEPCOUNT", among: names, limit: 3) == ["stepCount"])
        #expect(Suggestion.near(to: "steps", among: names, limit: 3) == ["stepCount"])
        #expect(Suggestion.near(to: "hartRate", among: names, limit: 3) == ["heartRate"])
        #expect(Suggestion.near(to: "heart", among: names, limit: 3) == ["heartRate", "heartRateVariabilitySDNN"])
        #expect(Suggestion.near(to: "nothing", among: names, limit: 3).isEmpty)
    }
}
