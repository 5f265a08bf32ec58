// Preloaded into a process that works on a store: makes the Nth call on files in a folder fail, as a disk may.
//
// The process arms it: fault_arm(folder, n, mode) counts calls from then on and makes the nth fail, once; n = 0 only
// counts. fault_calls() returns the count, fault_hit() the kind of the failed call. Modes: 1 EIO, 2 ENOSPC, 3 EINTR, 4
// a write of half the bytes (EIO for calls that write none). A read is never short: no disk does that within a file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum hit { NONE = 0, DATA_WRITE = 1, META_WRITE = 2, SYNC = 3, OPEN = 4, NAME = 5, SIZE = 6, OTHER_WRITE = 7, READ = 8, LOCK = 9, JOURNAL = 10 };
enum { EIO_MODE = 1, ENOSPC_MODE, EINTR_MODE, SHORT_MODE };
#define DESCRIPTORS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static long calls, wanted;
static int mode;
static enum hit found;
static char kinds[DESCRIPTORS];  // the kind of a write to this descriptor; 0: not in the folder

void fault_arm(const char *path, long n, int how) {
    pthread_mutex_lock(&lock);
    snprintf(folder, sizeof folder, "%s", path);
    calls = 0, wanted = n, mode = how, found = NONE;
    pthread_mutex_unlock(&lock);
}
long fault_calls(void) { return calls; }
int fault_hit(void) { return found; }

static int inside(const char *path) { return folder[0] && !strncmp(path, folder, strlen(folder)); }

// Counts a call; returns whether it must fail, with errno set.
static int fails(enum hit kind) {
    pthread_mutex_lock(&lock);
    int is_it = ++calls == wanted;
    if (is_it) found = kind;
    pthread_mutex_unlock(&lock);
    // Reading and locking need no space.
    int may_lack_room = kind != READ && kind != LOCK;
    if (is_it) errno = mode == ENOSPC_MODE && may_lack_room ? ENOSPC : mode == EINTR_MODE ? EINTR : EIO;
    return is_it;
}

static enum hit kind_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? (enum hit)kinds[descriptor] : NONE;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int descriptor, const char *path, int flags) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return descriptor;
    size_t length = strlen(path);
    int is_data = length > 9 && !strcmp(path + length - 9, "/data.mdb");
    int is_journal = length > 13 && !strcmp(path + length - 13, "/data.journal");
    kinds[descriptor] = !inside(path) ? NONE : is_journal ? JOURNAL : is_data ? (flags & O_DSYNC ? META_WRITE : DATA_WRITE) : OTHER_WRITE;
    return descriptor;
}

#define OPENING(name, ...)                                                             \
    mode_t bits = 0;                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                               \
        va_list list;                                                                  \
        va_start(list, flags);                                                         \
        bits = va_arg(list, mode_t);                                                   \
        va_end(list);                                                                  \
    }                                                                                  \
    if (inside(path) && fails(OPEN)) return -1;                                        \
    return opened(REAL(name)(__VA_ARGS__, flags, bits), path, flags);

int open(const char *path, int flags, ...) { OPENING(open, path) }
int open64(const char *path, int flags, ...) { OPENING(open64, path) }
int openat(int at, const char *path, int flags, ...) { OPENING(openat, at, path) }
int openat64(int at, const char *path, int flags, ...) { OPENING(openat64, at, path) }

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) kinds[descriptor] = NONE;
    return REAL(close)(descriptor);
}

#define WRITING(whole, half)                                                           \
    enum hit kind = kind_of(descriptor);                                               \
    /* A frame is the journal's data, and its flush the last step of a commit, as the meta page is elsewhere. */ \
    if (kind == JOURNAL) kind = DATA_WRITE;                                            \
    if (kind != NONE && fails(kind)) {                                                 \
        if (mode != SHORT_MODE || length < 2) return -1;                               \
        return half;                                                                   \
    }                                                                                  \
    return whole;

ssize_t write(int descriptor, const void *bytes, size_t length) {
    WRITING(REAL(write)(descriptor, bytes, length), REAL(write)(descriptor, bytes, length / 2))
}
ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t at) {
    WRITING(REAL(pwrite)(descriptor, bytes, length, at), REAL(pwrite)(descriptor, bytes, length / 2, at))
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t at) {
    WRITING(REAL(pwrite64)(descriptor, bytes, length, at), REAL(pwrite64)(descriptor, bytes, length / 2, at))
}
// A short write of several parts writes half of the first part.
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    size_t length = count > 0 ? parts[0].iov_len : 0;
    WRITING(REAL(writev)(descriptor, parts, count), REAL(write)(descriptor, parts[0].iov_base, length / 2))
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t at) {
    size_t length = count > 0 ? parts[0].iov_len : 0;
    WRITING(REAL(pwritev)(descriptor, parts, count, at), REAL(pwrite)(descriptor, parts[0].iov_base, length / 2, at))
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off_t at) {
    size_t length = count > 0 ? parts[0].iov_len : 0;
    WRITING(REAL(pwritev64)(descriptor, parts, count, at), REAL(pwrite)(descriptor, parts[0].iov_base, length / 2, at))
}

int fdatasync(int descriptor) {
    enum hit kind = kind_of(descriptor);
    return kind && fails(kind == JOURNAL ? META_WRITE : SYNC) ? -1 : REAL(fdatasync)(descriptor);
}
int fsync(int descriptor) { return kind_of(descriptor) && fails(SYNC) ? -1 : REAL(fsync)(descriptor); }
int msync(void *address, size_t length, int flags) { return REAL(msync)(address, length, flags); }
int ftruncate(int descriptor, off_t size) {
    return kind_of(descriptor) && fails(SIZE) ? -1 : REAL(ftruncate)(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) {
    return kind_of(descriptor) && fails(SIZE) ? -1 : REAL(ftruncate64)(descriptor, size);
}
int fallocate(int descriptor, int how, off_t from, off_t length) {
    return kind_of(descriptor) && fails(SIZE) ? -1 : REAL(fallocate)(descriptor, how, from, length);
}
ssize_t read(int descriptor, void *bytes, size_t length) {
    return kind_of(descriptor) && fails(READ) ? -1 : REAL(read)(descriptor, bytes, length);
}
ssize_t pread(int descriptor, void *bytes, size_t length, off_t at) {
    return kind_of(descriptor) && fails(READ) ? -1 : REAL(pread)(descriptor, bytes, length, at);
}
ssize_t pread64(int descriptor, void *bytes, size_t length, off_t at) {
    return kind_of(descriptor) && fails(READ) ? -1 : REAL(pread64)(descriptor, bytes, length, at);
}
int rename(const char *from, const char *to) { return inside(from) && fails(NAME) ? -1 : REAL(rename)(from, to); }
int link(const char *from, const char *to) { return inside(to) && fails(NAME) ? -1 : REAL(link)(from, to); }
int mkdir(const char *path, mode_t bits) { return inside(path) && fails(NAME) ? -1 : REAL(mkdir)(path, bits); }
int flock(int descriptor, int what) { return kind_of(descriptor) && fails(LOCK) ? -1 : REAL(flock)(descriptor, what); }
int unlink(const char *path) { return inside(path) && fails(NAME) ? -1 : REAL(unlink)(path); }
