// Without robust mutexes, the victim's death leaves LMDB's lock locked if the victim got it: docs/APPLE.md says more.
#if os(Linux) && !BundledLMDB
    import Foundation
    import LMDB
    import TestSupport
    import Testing

    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif

    /// Writers of several processes wait for each other, and one is killed at the worst moment.
    @Suite struct WriteGateTests {
        @Test("A waiting writer that is killed as it wakes up does not leave the next one waiting forever")
        func killedWaiter() async throws {
            let folder = TemporaryFolder()
            let path = folder.path
            let environment = try Environment(folder: path)
            // Awaiting an exit test blocks a thread of the cooperative pool, so the rest of this test runs on other
            // threads.
            let (holder, remover) = (WriterThread(name: "holder"), WriterThread(name: "remover"))
            let begun = Gate()
            holder.perform {
                Processor.stay()
                guard let first = try? environment.beginWrite() else { return }
                begun.open()
                let victim = Self.pid(path + "/victim.pid")
                _ = Self.pid(path + "/waiter.pid")
                usleep(300_000)
                // Releasing the lock wakes the victim, but this thread occupies its processor, so it cannot run before
                // the kill. It got there like any other thread: at this policy from the start, a busy machine would
                // keep it from ever waiting.
                Processor.setIdle(victim)
                _ = consume first
                guard let second = try? environment.beginWrite() else { return }
                Processor.end(victim)
                _ = consume second
            }
            remover.perform {
                let victim = Self.pid(path + "/victim.pid")
                _ = Self.pid(path + "/waiter.pid")
                usleep(900_000)
                // The victim may have acquired the lock nevertheless, and then it holds the lock until it is killed.
                Processor.end(victim)
            }
            begun.wait()
            let killed = Task { await expectKilled(path) }
            await expectWritten(path)
            await killed.value
            holder.stop()
            remover.stop()
            environment.close()
        }

        private func expectKilled(_ path: String) async {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                Processor.stay()
                let environment = try Environment(folder: path)
                try "\(Processor.thread)".write(toFile: path + "/victim.pid", atomically: true, encoding: .utf8)
                try environment.holdForEver()
            }
        }

        private func expectWritten(_ path: String) async {
            await #expect(processExitsWith: .success) { [path = path as String] in
                let environment = try Environment(folder: path)
                _ = Self.pid(path + "/victim.pid")
                // Kills this process if it waits too long: longer than this, and what wakes it by chance would hide the
                // fault. A victim that is slow to start does not count.
                alarm(30)
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

    /// Controls which processor a thread runs on.
    private enum Processor {
        /// The calling thread's number, to which `kill` and policies apply like to that of a process.
        static var thread: pid_t {
            typealias ThreadNumber = @convention(c) () -> pid_t
            guard let symbol = unsafe dlsym(nil, "gettid") else { return getpid() }
            // unsafe: the function has this signature.
            return unsafe unsafeBitCast(symbol, to: ThreadNumber.self)()
        }

        /// Binds the calling thread to the first processor.
        static func stay() {
            typealias SetAffinity = @convention(c) (pid_t, Int, UnsafeRawPointer) -> Int32
            guard let symbol = unsafe dlsym(nil, "sched_setaffinity") else { return }
            // unsafe: the function has this signature, and reads as many bytes as the second argument says.
            let setAffinity = unsafe unsafeBitCast(symbol, to: SetAffinity.self)
            var first: UInt64 = 1
            _ = unsafe setAffinity(0, 8, &first)
        }

        /// From now on the thread runs only while no other thread needs the processor.
        static func setIdle(_ thread: pid_t) { setPolicy(thread, 5) }

        /// Kills a thread's process and lets the thread run until it has ended, even if its policy was idle.
        static func end(_ thread: pid_t) {
            kill(thread, SIGKILL)
            setPolicy(thread, 0)
        }

        private static func setPolicy(_ thread: pid_t, _ policy: Int32) {
            var parameters = sched_param()
            _ = unsafe sched_setscheduler(thread, policy, &parameters)
        }
    }
#endif
