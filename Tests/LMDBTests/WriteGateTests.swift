#if os(Linux)
    import Foundation
    import LMDB
    import TestSupport
    import Testing

    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif

    /// Writers of several processes that wait for each other, and one of them killed at the worst moment.
    @Suite struct WriteGateTests {
        @Test("A writer that is killed when it is woken does not leave the one behind it waiting for ever")
        func killedWaiter() async throws {
            let folder = TemporaryFolder()
            let path = folder.path
            let environment = try Environment(folder: path)
            // Waiting for an exit test keeps a thread of the pool, so nothing else of this test runs there.
            let (holder, remover) = (WriterThread(name: "holder"), WriterThread(name: "remover"))
            let begun = Gate()
            holder.perform {
                Processor.stay()
                guard let first = try? environment.beginWrite() else { return }
                begun.open()
                let victim = Self.pid(path + "/victim.pid")
                _ = Self.pid(path + "/waiter.pid")
                usleep(300_000)
                // The victim is woken, and has no chance to run before it is killed: this thread has its processor.
                _ = consume first
                guard let second = try? environment.beginWrite() else { return }
                Processor.end(victim)
                _ = consume second
            }
            remover.perform {
                let victim = Self.pid(path + "/victim.pid")
                _ = Self.pid(path + "/waiter.pid")
                usleep(900_000)
                // The lock may have been the victim's after all, which keeps it.
                Processor.end(victim)
            }
            begun.wait()
            async let killed: Void = expectKilled(path)
            async let waiter: Void = expectWritten(path)
            _ = await (killed, waiter)
            holder.stop()
            remover.stop()
            environment.close()
        }

        private func expectKilled(_ path: String) async {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                Processor.stay(idle: true)
                let environment = try Environment(folder: path)
                try "\(getpid())".write(toFile: path + "/victim.pid", atomically: true, encoding: .utf8)
                try environment.holdForEver()
            }
        }

        private func expectWritten(_ path: String) async {
            await #expect(processExitsWith: .success) { [path = path as String] in
                // Instead of waiting for ever.
                alarm(30)
                let environment = try Environment(folder: path)
                try "\(getpid())".write(toFile: path + "/waiter.pid", atomically: true, encoding: .utf8)
                try environment.write { _ in }
                environment.close()
            }
        }

        private static func pid(_ file: String) -> pid_t {
            while true {
                if let text = try? String(contentsOfFile: file, encoding: .utf8), let number = pid_t(text) {
                    return number
                }
                usleep(10_000)
            }
        }
    }

    extension Environment {
        fileprivate func holdForEver() throws {
            let transaction = try beginWrite()
            while transaction.id > 0 { sleep(1) }
        }
    }

    /// Where a thread runs.
    private enum Processor {
        /// Binds the calling thread to the first processor; an idle one runs there only when nobody else does.
        static func stay(idle: Bool = false) {
            typealias SetAffinity = @convention(c) (pid_t, Int, UnsafeRawPointer) -> Int32
            guard let symbol = unsafe dlsym(nil, "sched_setaffinity") else { return }
            // unsafe: the function has this signature, and reads as many bytes as it is told.
            let setAffinity = unsafe unsafeBitCast(symbol, to: SetAffinity.self)
            var first: UInt64 = 1
            _ = unsafe setAffinity(0, 8, &first)
            if idle { setPolicy(0, 5) }
        }

        /// Kills a process, and lets it run to its end even if it was idle.
        static func end(_ process: pid_t) {
            kill(process, SIGKILL)
            setPolicy(process, 0)
        }

        private static func setPolicy(_ process: pid_t, _ policy: Int32) {
            var parameters = sched_param()
            _ = unsafe sched_setscheduler(process, policy, &parameters)
        }
    }
#endif
