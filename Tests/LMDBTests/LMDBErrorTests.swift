import LMDB
import Testing
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct LMDBErrorTests {
    @Test("An error names the failure, the file and the remedy")
    func description() {
        let error = LMDBError(.mapFull, operation: "mdb_put", path: "/data/store")
        #expect(
            error.description == "mdb_put failed (-30792) in /data/store: MDB_MAP_FULL: Environment mapsize limit "
                + "reached. Delete data, or open the environment with a larger map.")
    }

    @Test("Codes of this layer and of the operating system have descriptions too")
    func words() {
        let own: [LMDBError.Code] = [.keyTooLong, .forked, .closed, .badTable]
        #expect(own.allSatisfy { !$0.description.contains("Unknown") && !$0.description.contains("No such") })
        #expect(LMDBError.Code.noSpace.rawValue == ENOSPC)
        #expect(LMDBError.Code.noSpace.description == "No space left on device")
        #expect(LMDBError.Code(rawValue: EPERM).advice.isEmpty == false)
    }

    @Test("Opening a file that LMDB did not write is an error")
    func foreignFile() throws {
        let folder = TemporaryFolder()
        let file = unsafe fopen(folder.path + "/data.mdb", "w")
        let line = [UInt8](repeating: 65, count: 8192)
        unsafe fwrite(line, 1, line.count, file)
        unsafe fclose(file)
        #expect(throws: LMDBError(.invalid, operation: "mdb_env_open", path: folder.path)) {
            try Environment(folder: folder.path)
        }
    }
}
