/* Makes the clock of a process differ from the system's by CLOCK_AHEAD seconds: what is read, and the times of files.
   Clocks that measure how long something took stay as they are, and so do all waits. Unlike libfaketime, which also
   steps into waits and timers and makes Postgres wait for ever, nothing else is touched. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead;
static char kept[2][4096];
static const char *const names[2] = {"CLOCK_AHEAD=", "LD_PRELOAD="};

__attribute__((constructor)) static void read_settings(void) {
    const char *given[2] = {getenv("CLOCK_AHEAD"), getenv("LD_PRELOAD")};
    ahead = given[0] ? atol(given[0]) : 0;
    for (int each = 0; each < 2; each++)
        snprintf(kept[each], sizeof kept[each], "%s%s", names[each], given[each] ? given[each] : "");
}

/* A program that is started without this environment, as a Postgres is, has the same clock. */
int execve(const char *path, char *const arguments[], char *const environment[]) {
    size_t many = 0, made = 0;
    while (environment && environment[many]) many++;
    char *whole[many + 3];
    for (size_t each = 0; each < many; each++) {
        int same = 0;
        for (int name = 0; name < 2; name++) same |= !strncmp(environment[each], names[name], strlen(names[name]));
        if (!same) whole[made++] = environment[each];
    }
    whole[made++] = kept[0];
    whole[made++] = kept[1];
    whole[made] = NULL;
    return (int)syscall(SYS_execve, path, arguments, whole);
}

int clock_gettime(clockid_t id, struct timespec *at) {
    if (syscall(SYS_clock_gettime, id, at) == -1) return -1;
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) at->tv_sec += ahead;
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

static int moved(int result, struct stat *found) {
    if (result == 0) {
        found->st_atim.tv_sec += ahead;
        found->st_mtim.tv_sec += ahead;
        found->st_ctim.tv_sec += ahead;
    }
    return result;
}

int fstatat(int folder, const char *restrict path, struct stat *restrict found, int flags) {
    return moved((int)syscall(SYS_newfstatat, folder, path, found, flags), found);
}
int stat(const char *restrict path, struct stat *restrict found) { return fstatat(AT_FDCWD, path, found, 0); }
int lstat(const char *restrict path, struct stat *restrict found) {
    return fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat *found) { return moved((int)syscall(SYS_fstat, file, found), found); }

/* On 64 bits these are the same. */
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict found, int flags) {
    return fstatat(folder, path, (struct stat *)found, flags);
}
int stat64(const char *restrict path, struct stat64 *restrict found) { return stat(path, (struct stat *)found); }
int lstat64(const char *restrict path, struct stat64 *restrict found) { return lstat(path, (struct stat *)found); }
int fstat64(int file, struct stat64 *found) { return fstat(file, (struct stat *)found); }

int statx(int folder, const char *restrict path, int flags, unsigned int mask, struct statx *restrict found) {
    int result = (int)syscall(SYS_statx, folder, path, flags, mask, found);
    if (result == 0) {
        found->stx_atime.tv_sec += ahead;
        found->stx_btime.tv_sec += ahead;
        found->stx_ctime.tv_sec += ahead;
        found->stx_mtime.tv_sec += ahead;
    }
    return result;
}

static int set_times(int folder, const char *path, const struct timespec times[2], int flags) {
    struct timespec set[2];
    for (int each = 0; times && each < 2; each++) {
        set[each] = times[each];
        if (set[each].tv_nsec != UTIME_NOW && set[each].tv_nsec != UTIME_OMIT) set[each].tv_sec -= ahead;
    }
    return (int)syscall(SYS_utimensat, folder, path, times ? set : NULL, flags);
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    return set_times(folder, path, times, flags);
}
int futimens(int file, const struct timespec times[2]) { return set_times(file, NULL, times, 0); }
