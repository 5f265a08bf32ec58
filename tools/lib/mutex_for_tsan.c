// Preloaded under the thread sanitizer, on Linux. When threads wait for each other, Swift's Mutex calls its library.
// The sanitizer does not see that code, so it would report accesses that the mutex guards. This file tells the
// sanitizer which accesses these two calls order, and makes the maps of stores small enough for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Methods of a Swift structure: self is in the context register.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

typedef SWIFT void Lock(uint32_t thread, SELF);
typedef SWIFT void Unlock(SELF);

Lock lock_slowly __asm__(LOCK);
Unlock unlock_slowly __asm__(UNLOCK);

// Missing in a process without the sanitizer.
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

// Under the sanitizer a process has room for some sixty maps of the usual size, and tests have more stores open.
static const size_t room = (size_t)1 << 30;
typedef int SetMapSize(void *environment, size_t size);

static Lock *lock;
static Unlock *unlock;
static SetMapSize *set_map_size;

__attribute__((constructor)) static void find(void) {
    lock = (Lock *)dlsym(RTLD_NEXT, LOCK);
    unlock = (Unlock *)dlsym(RTLD_NEXT, UNLOCK);
    set_map_size = (SetMapSize *)dlsym(RTLD_NEXT, "mdb_env_set_mapsize");
}

int mdb_env_set_mapsize(void *environment, size_t size) {
    return set_map_size(environment, size > room ? room : size);
}

SWIFT void lock_slowly(uint32_t thread, SELF) {
    lock(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slowly(SELF) {
    if (__tsan_release) __tsan_release(mutex);
    unlock(mutex);
}
