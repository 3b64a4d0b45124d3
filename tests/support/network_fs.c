// For LD_PRELOAD: what lies under $LGR_NETWORK_DIR is said to be an NFS mount, so that agents take it
// for one that other hosts see as well. Used by tests/e2e/shared_files_test.py.
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int fstatfs(int fd, struct statfs* out) {
  const int result = (int)syscall(SYS_fstatfs, fd, out);
  const char* directory = getenv("LGR_NETWORK_DIR");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path);
  if (result == 0 && directory != NULL && length > 0 &&
      strncmp(path, directory, strlen(directory)) == 0) {
    out->f_type = NFS_SUPER_MAGIC;
  }
  return result;
}
