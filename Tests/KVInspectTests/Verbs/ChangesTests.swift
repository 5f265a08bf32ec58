import Testing

@testable import kvinspect

@Suite("changes")
struct ChangesTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("Every change carries a token that continues after it")
    func pages() throws {
        var seen: [String] = []
        var token: String?
        for _ in 0..<4 {
            let since = token.map { ["--since", $0] } ?? []
            let page = try bench.run(["changes", "S", "--limit", "1", "--format", "jsonl"] + since, input: nil).lines()
            #expect(page.count == 1 && page[0]["change"] as? String == "saved")
            seen += page.compactMap { $0["id"] as? String }
            token = page.first?["token"] as? String
        }
        #expect(Set(seen).count == 4)
        let end = try bench.run("changes", "S", "--since", try #require(token), "--format", "json").json()
        #expect((end["changes"] as? [Any])?.isEmpty == true && end["more"] as? Bool == false)
        #expect((end["next"] as? String)?.hasPrefix("kv1:") == true)
    }

    @Test("The token that info prints is the end of the changes")
    func current() throws {
        let token = try #require(try bench.run("info", "S", "--format", "json").json()["token"] as? String)
        #expect(try bench.run("changes", "S", "--since", token, "--format", "jsonl").output.isEmpty)
        try bench.load("S", #"{"type":"stepCount","start":"2024-07-01","value":5,"unit":"count"}"#)
        let later = try bench.run("changes", "S", "--since", token, "--format", "jsonl").lines()
        #expect(later.map { $0["value"] as? Double } == [5])
        try bench.expectClean("S")
    }

    @Test("A token of another store gives an error with the remedy")
    func foreign() throws {
        try bench.load("T", Fixture.lines)
        let token = try #require(try bench.run("info", "T", "--format", "json").json()["token"] as? String)
        let run = try bench.run("changes", "S", "--since", token)
        #expect(run.code == 1 && run.output.isEmpty && run.errors.hasPrefix("Error: "), "\(run.errors)")
    }
}
