import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The type system enforces LMDB's rules: programs that break one do not compile. Each file of `CompileFailures` is
/// such a program, with the expected diagnostic in its first line; `Control` is a correct program.
@Suite(.enabled(if: Compiler.isAvailable, "no compiler, or no modules beside the tests"))
struct CompileFailureTests {
    @Test("A correct program compiles")
    func control() throws {
        let result = try Compiler.check("Control")
        #expect(result.status == 0, "\(result.output)")
    }

    @Test(
        "A program that breaks a rule of LMDB does not compile",
        arguments: [
            "CursorEscapes", "SpanEscapes", "ViewEscapes", "DoubleCommit", "UseAfterCommit", "WriteWhileCursorLives",
            "WriteWhileSpanLives", "CommitWhileSpanLives", "ReadTransactionStored", "TransactionCaptured",
            "WriteAcrossSuspension",
        ])
    func failure(name: String) throws {
        let expected = try #require(Compiler.expectation(of: name))
        let result = try Compiler.check(name)
        #expect(result.status != 0, "it must not compile")
        let errors = result.output.split(separator: "\n").filter { $0.contains("error:") }
        #expect(!errors.isEmpty && errors.allSatisfy { $0.contains(expected) }, "\(result.output)")
    }
}

/// The compiler, with the modules of this build.
private enum Compiler {
    private static let package = ancestor(#filePath, 3)
    private static let modules = ancestor(CommandLine.arguments[0], 1) + "/Modules"

    /// The module map of the C module below LMDB: the system's, or the one that the environment variable names, as with
    /// the trait BundledLMDB.
    private static var moduleMap: String {
        guard let other = unsafe getenv("HEALTHKV_LMDB_MODULE") else {
            return package + "/Sources/CSystemLMDB/module.modulemap"
        }
        // unsafe: the string is copied at once.
        return unsafe String(cString: other)
    }

    static var isAvailable: Bool {
        unsafe access(modules + "/LMDB.swiftmodule", R_OK) == 0 && run("swiftc --version").status == 0
    }

    static func source(_ name: String) -> String {
        package + "/Tests/LMDBTests/CompileFailures/" + name + ".swift.txt"
    }

    /// Reads the expected diagnostic from the first line of a file: `// error: …`.
    static func expectation(of name: String) -> String? {
        let line = run("head -n 1 '\(source(name))'").output.split(separator: "\n").first
        let mark = "// error: "
        guard let line, line.hasPrefix(mark) else { return nil }
        return String(line.dropFirst(mark.count))
    }

    /// Lifetimes and ownership are checked on SIL, so type checking alone does not suffice.
    static func check(_ name: String) throws -> (status: Int32, output: String) {
        run(
            "swiftc -emit-sil -o /dev/null -parse-as-library -swift-version 6 -enable-experimental-feature Lifetimes"
                + " -module-name Check -I '\(modules)' -Xcc -fmodule-map-file='\(moduleMap)'"
                + " - < '\(source(name))'")
    }

    private static func run(_ command: String) -> (status: Int32, output: String) {
        guard let pipe = unsafe popen(command + " 2>&1", "r") else { return (-1, "") }
        var output: [UInt8] = []
        while case let byte = unsafe fgetc(pipe), byte != EOF { output.append(UInt8(byte)) }
        return (unsafe pclose(pipe), String(decoding: output, as: UTF8.self))
    }

    private static func ancestor(_ path: String, _ levels: Int) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast(levels).joined(separator: "/")
    }
}
