/* Fails one call that syncs: the one whose number is in FAIL_SYNC_AT. Those after it succeed, as on
   systems that forget what they could not write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static int passed;

static int synced(const char *name, int fd) {
    const char *at = getenv("FAIL_SYNC_AT");
    if (at && __sync_add_and_fetch(&passed, 1) == atoi(at)) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
