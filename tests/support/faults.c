/* Counts the calls that touch the disk, and lets the chosen one fail or be the last: loaded before libc.

   A fate is an error number, KILL (before the call) or TORN (half a write, then KILL). A fate that lasts strikes
   every later call of the same sort, too: a disk stays full, a file system stays read-only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { KILL = -1, TORN = -2 };
enum sort { READS = 1, TAKES = 2, CHANGES = 4, SYNCS = 8 }; /* TAKES: needs room on the disk, or a descriptor */

static long count, chosen;
static int fate, lasting, armed;
static char trace[1 << 18];
static char only[32]; /* the call that is counted; empty: all are */
static size_t traced;

void faults_arm(long nth, int what, int sorts) {
  count = 0, chosen = nth, fate = what, lasting = sorts, traced = 0, armed = 1;
}

void faults_count(const char *name) { strncpy(only, name, sizeof only - 1); }

const char *faults_disarm(void) {
  armed = 0;
  trace[traced] = 0;
  return trace;
}

static int strikes(enum sort sort, const char *name) {
  if (!armed) return 0;
  size_t length = strlen(name);
  if (traced + length + 2 < sizeof trace) {
    memcpy(trace + traced, name, length);
    traced += length;
    trace[traced++] = ' ';
  }
  int counts = !only[0] || !strcmp(only, name);
  long number = counts ? ++count : count;
  int hit = counts && number == chosen, after = !hit && chosen && number >= chosen;
  if (!hit && !(after && (lasting & sort))) return 0;
  if (hit && lasting && !(lasting & sort)) return 0;
  if (fate == KILL || fate == TORN) kill(getpid(), SIGKILL);
  errno = fate;
  return 1;
}

/* What goes to a pipe, a socket or the person's terminal touches no disk. */
static int is_elsewhere(int fd) {
  struct stat found;
  return armed && (fd <= 2 || (fstat(fd, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)));
}

static int torn(void) { return armed && fate == TORN && count + 1 == chosen; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(type, name, sort, parameters, arguments) \
  type name parameters { return strikes(sort, #name) ? (type)-1 : REAL(name) arguments; }

#define OPEN(name, parameters, arguments) \
  int name parameters { \
    mode_t mode = 0; \
    if (flags & O_CREAT) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    return strikes(flags & O_CREAT ? TAKES : READS, flags & O_CREAT ? "create" : "open") ? -1 : REAL(name) arguments; \
  }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

ssize_t write(int fd, const void *data, size_t size) {
  if (is_elsewhere(fd)) return REAL(write)(fd, data, size);
  if (torn()) REAL(write)(fd, data, size / 2);
  return strikes(TAKES, "write") ? -1 : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  if (torn()) REAL(pwrite)(fd, data, size / 2, at);
  return strikes(TAKES, "pwrite") ? -1 : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  if (torn()) REAL(pwrite64)(fd, data, size / 2, at);
  return strikes(TAKES, "pwrite") ? -1 : REAL(pwrite64)(fd, data, size, at);
}

WRAP(int, fsync, SYNCS, (int fd), (fd))
WRAP(int, fdatasync, SYNCS, (int fd), (fd))
WRAP(int, rename, CHANGES, (const char *old, const char *new), (old, new))
WRAP(int, renameat, CHANGES, (int a, const char *old, int b, const char *new), (a, old, b, new))
WRAP(int, renameat2, CHANGES, (int a, const char *old, int b, const char *new, unsigned flags), (a, old, b, new, flags))
WRAP(int, unlink, CHANGES, (const char *path), (path))
WRAP(int, unlinkat, CHANGES, (int at, const char *path, int flags), (at, path, flags))
WRAP(int, rmdir, CHANGES, (const char *path), (path))
WRAP(int, mkdir, TAKES, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkdirat, TAKES, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(int, symlink, TAKES, (const char *to, const char *path), (to, path))
WRAP(int, symlinkat, TAKES, (const char *to, int at, const char *path), (to, at, path))
WRAP(int, link, TAKES, (const char *old, const char *new), (old, new))
WRAP(int, linkat, TAKES, (int a, const char *old, int b, const char *new, int flags), (a, old, b, new, flags))
WRAP(int, ftruncate, TAKES, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, TAKES, (int fd, off64_t size), (fd, size))
WRAP(int, chmod, CHANGES, (const char *path, mode_t mode), (path, mode))
WRAP(int, fchmod, CHANGES, (int fd, mode_t mode), (fd, mode))
WRAP(int, fchmodat, CHANGES, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags))
WRAP(int, fallocate, TAKES, (int fd, int how, off_t from, off_t size), (fd, how, from, size))
WRAP(int, posix_fallocate, TAKES, (int fd, off_t from, off_t size), (fd, from, size))
