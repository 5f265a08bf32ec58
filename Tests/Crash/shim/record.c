// Preloaded into a process that works on a store: records, in order, its calls on data.mdb and its journal, and its
// acknowledgements.
//
//   HEALTHKV_RECORD_FOLDER   files named data.mdb and acks in this folder or below are recorded
//   HEALTHKV_RECORD_LOG      the log file; appended through a separate descriptor
//   HEALTHKV_RECORD_DROP     a planted fault: "data N", "meta N" or "folder N" omits the Nth sync of that kind from the
//                            record, so that its writes count as unsynced; N = 0 omits all
//
// A record is a header and its bytes (RecordedLog.swift reads them). One lock is held over each call and its record, so
// the record is a possible order of the calls. A write is recorded after it returns, before any caller can act on it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPENED = 1, WROTE, WROTE_SYNCED, TRUNCATED, SYNCED, MARKED, NAMED, UNNAMED, FOLDER_SYNCED };
enum tracking { IGNORED = 0, DATA, DATA_SYNCED, ACKS, FOLDER };

struct header {
    uint32_t magic;
    uint32_t kind;
    uint64_t file;  // the inode
    uint64_t offset;
    uint64_t length;
};

#define MAGIC 0x4C4F4748u
#define DESCRIPTORS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_descriptor = -1;
static const char *folder;
static char tracked[DESCRIPTORS];
static uint64_t inodes[DESCRIPTORS];
static char drop_kind;
static long drop_number = -1;
static long syncs[3];

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("HEALTHKV_RECORD_LOG"), *drop = getenv("HEALTHKV_RECORD_DROP");
    folder = getenv("HEALTHKV_RECORD_FOLDER");
    if (!log || !folder) return;
    if (drop && sscanf(drop, "%c%*s %ld", &drop_kind, &drop_number) != 2) {
        fprintf(stderr, "record: HEALTHKV_RECORD_DROP is \"data N\", \"meta N\" or \"folder N\"\n");
        _exit(64);
    }
    log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_descriptor < 0) {
        fprintf(stderr, "record: cannot open %s: %s\n", log, strerror(errno));
        _exit(74);
    }
}

static void record(enum kind kind, uint64_t file, uint64_t offset, const void *bytes, uint64_t length) {
    struct header header = {MAGIC, kind, file, offset, length};
    struct iovec parts[2] = {{&header, sizeof header}, {(void *)bytes, bytes ? length : 0}};
    ssize_t whole = (ssize_t)(sizeof header + parts[1].iov_len);
    // Half a record would make the rest of the log unreadable.
    if (syscall(SYS_writev, log_descriptor, parts, 2) != whole) {
        fprintf(stderr, "record: the log cannot be written: %s\n", strerror(errno));
        _exit(74);
    }
}

// Whether the planted fault omits this sync.
static int is_dropped(char kind) {
    long number = ++syncs[kind == 'm' ? 1 : kind == 'f' ? 2 : 0];
    return kind == drop_kind && (drop_number == 0 || number == drop_number);
}

static enum tracking tracking_of(const char *path, int flags) {
    size_t length = strlen(folder);
    const char *name = strrchr(path, '/');
    if (log_descriptor < 0 || strncmp(path, folder, length) || (path[length] && path[length] != '/')) return IGNORED;
    if (name && !strcmp(name, "/acks")) return ACKS;
    if (name && !strcmp(name, "/data.mdb")) return flags & O_DSYNC ? DATA_SYNCED : DATA;
    if (name && !strncmp(name, "/data.journal", 13)) return DATA;
    return flags & O_DIRECTORY || !(flags & (O_WRONLY | O_RDWR)) ? FOLDER : IGNORED;
}

// A name that is created or removed: the offset is the inode of the folder, whose sync makes the name durable.
static void named(enum kind kind, uint64_t file, const char *path) {
    struct stat status;
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof parent) return;
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    record(kind, file, stat(parent, &status) ? 0 : status.st_ino, path, strlen(path));
}

static int is_new(const char *path, int flags) {
    return flags & O_CREAT && log_descriptor >= 0 && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
}

static int opened(int descriptor, const char *path, int flags, int new) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || log_descriptor < 0) return descriptor;
    struct stat status;
    enum tracking how = tracking_of(path, flags);
    if (how == IGNORED || fstat(descriptor, &status)) return descriptor;
    if (how == FOLDER && !S_ISDIR(status.st_mode)) return descriptor;
    pthread_mutex_lock(&lock);
    tracked[descriptor] = (char)how;
    inodes[descriptor] = status.st_ino;
    if (how == DATA || how == DATA_SYNCED) {
        record(OPENED, status.st_ino, how == DATA_SYNCED, path, strlen(path));
        if (new) named(NAMED, status.st_ino, path);
        if (flags & O_TRUNC && !new) record(TRUNCATED, status.st_ino, 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    return descriptor;
}

static enum tracking how(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? (enum tracking)tracked[descriptor] : IGNORED;
}

// Called with the lock held, after `length` bytes were written.
static void wrote(int descriptor, const void *bytes, uint64_t length, uint64_t offset) {
    switch (how(descriptor)) {
        case ACKS: record(MARKED, 0, 0, bytes, length); break;
        case DATA: record(WROTE, inodes[descriptor], offset, bytes, length); break;
        case DATA_SYNCED:
            record(is_dropped('m') ? WROTE : WROTE_SYNCED, inodes[descriptor], offset, bytes, length);
            break;
        default: break;
    }
}

static void wrote_parts(int descriptor, const struct iovec *parts, int count, ssize_t written, off_t offset) {
    char *joined = malloc((size_t)written + 1), *end = joined;
    size_t left = (size_t)written;
    for (int part = 0; part < count && left; part++) {
        size_t length = parts[part].iov_len < left ? parts[part].iov_len : left;
        memcpy(end, parts[part].iov_base, length);
        end += length;
        left -= length;
    }
    wrote(descriptor, joined, (uint64_t)written, (uint64_t)offset);
    free(joined);
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

#define MODE(flags, last, mode)                                    \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                         \
        va_list list;                                              \
        va_start(list, last);                                      \
        mode = va_arg(list, mode_t);                               \
        va_end(list);                                              \
    }

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, flags, mode)
    int new = is_new(path, flags);
    return opened(REAL(open)(path, flags, mode), path, flags, new);
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, flags, mode)
    int new = is_new(path, flags);
    return opened(REAL(open64)(path, flags, mode), path, flags, new);
}

int openat(int at, const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, flags, mode)
    int new = is_new(path, flags);
    return opened(REAL(openat)(at, path, flags, mode), path, flags, new);
}

int openat64(int at, const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, flags, mode)
    int new = is_new(path, flags);
    return opened(REAL(openat64)(at, path, flags, mode), path, flags, new);
}

int close(int descriptor) {
    if (how(descriptor) != IGNORED) {
        pthread_mutex_lock(&lock);
        tracked[descriptor] = IGNORED;
        pthread_mutex_unlock(&lock);
    }
    return REAL(close)(descriptor);
}

static uint64_t position(int descriptor) { return (uint64_t)syscall(SYS_lseek, descriptor, 0, SEEK_CUR); }

ssize_t write(int descriptor, const void *bytes, size_t length) {
    if (how(descriptor) == IGNORED) return REAL(write)(descriptor, bytes, length);
    pthread_mutex_lock(&lock);
    uint64_t offset = position(descriptor);
    ssize_t written = REAL(write)(descriptor, bytes, length);
    if (written > 0) wrote(descriptor, bytes, (uint64_t)written, offset);
    pthread_mutex_unlock(&lock);
    return written;
}

#define PWRITE(name)                                                                   \
    ssize_t name(int descriptor, const void *bytes, size_t length, off_t offset) {     \
        if (how(descriptor) == IGNORED) return REAL(name)(descriptor, bytes, length, offset); \
        pthread_mutex_lock(&lock);                                                     \
        ssize_t written = REAL(name)(descriptor, bytes, length, offset);               \
        if (written > 0) wrote(descriptor, bytes, (uint64_t)written, (uint64_t)offset); \
        pthread_mutex_unlock(&lock);                                                   \
        return written;                                                                \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                                  \
    ssize_t name(int descriptor, const struct iovec *parts, int count, off_t offset) { \
        if (how(descriptor) == IGNORED) return REAL(name)(descriptor, parts, count, offset); \
        pthread_mutex_lock(&lock);                                                     \
        ssize_t written = REAL(name)(descriptor, parts, count, offset);                \
        if (written > 0) wrote_parts(descriptor, parts, count, written, offset);       \
        pthread_mutex_unlock(&lock);                                                   \
        return written;                                                                \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    if (how(descriptor) == IGNORED) return REAL(writev)(descriptor, parts, count);
    pthread_mutex_lock(&lock);
    uint64_t offset = position(descriptor);
    ssize_t written = REAL(writev)(descriptor, parts, count);
    if (written > 0) wrote_parts(descriptor, parts, count, written, (off_t)offset);
    pthread_mutex_unlock(&lock);
    return written;
}

#define SYNC(name)                                                                     \
    int name(int descriptor) {                                                         \
        enum tracking kind = how(descriptor);                                          \
        if (kind == IGNORED || kind == ACKS) return REAL(name)(descriptor);            \
        pthread_mutex_lock(&lock);                                                     \
        int code = REAL(name)(descriptor);                                             \
        if (code == 0 && kind == FOLDER && !is_dropped('f')) record(FOLDER_SYNCED, inodes[descriptor], 0, NULL, 0); \
        if (code == 0 && kind != FOLDER && !is_dropped('d'))                           \
            record(SYNCED, inodes[descriptor], 0, NULL, 0);                            \
        pthread_mutex_unlock(&lock);                                                   \
        return code;                                                                   \
    }
SYNC(fdatasync)
SYNC(fsync)

// The file behind the memory is unknown, so a store that maps its file for writing cannot be recorded.
int msync(void *address, size_t length, int flags) {
    if (log_descriptor >= 0) {
        fprintf(stderr, "record: msync of a store that should only ever be mapped for reading\n");
        _exit(70);
    }
    return REAL(msync)(address, length, flags);
}

#define FTRUNCATE(name)                                                                \
    int name(int descriptor, off_t size) {                                             \
        if (how(descriptor) != DATA && how(descriptor) != DATA_SYNCED) return REAL(name)(descriptor, size); \
        pthread_mutex_lock(&lock);                                                     \
        int code = REAL(name)(descriptor, size);                                       \
        if (code == 0) record(TRUNCATED, inodes[descriptor], (uint64_t)size, NULL, 0); \
        pthread_mutex_unlock(&lock);                                                   \
        return code;                                                                   \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

static uint64_t inode_of(const char *path) {
    struct stat status;
    return stat(path, &status) ? 0 : status.st_ino;
}

static int is_data(const char *path) {
    enum tracking kind = log_descriptor < 0 ? IGNORED : tracking_of(path, O_RDWR);
    return kind == DATA || kind == DATA_SYNCED;
}

int rename(const char *from, const char *to) {
    if (!is_data(from) && !is_data(to)) return REAL(rename)(from, to);
    pthread_mutex_lock(&lock);
    int code = REAL(rename)(from, to);
    if (code == 0) {
        named(NAMED, inode_of(to), to);
        named(UNNAMED, 0, from);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

int link(const char *from, const char *to) {
    if (!is_data(to)) return REAL(link)(from, to);
    pthread_mutex_lock(&lock);
    int code = REAL(link)(from, to);
    if (code == 0) named(NAMED, inode_of(to), to);
    pthread_mutex_unlock(&lock);
    return code;
}

int unlink(const char *path) {
    if (!is_data(path)) return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    int code = REAL(unlink)(path);
    if (code == 0) named(UNNAMED, 0, path);
    pthread_mutex_unlock(&lock);
    return code;
}
