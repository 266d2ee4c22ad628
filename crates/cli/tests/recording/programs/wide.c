/* Offsets of 64 bits give some functions other names. Data is handed over through a file and through a pipe by them, rightly. */

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "check.h"

static int file, ends[2], data;

static void *sends_file(void *unused) {
  off_t from = 0;
  data = 1;
  CHECK(sendfile(ends[1], file, &from, 1) == 1 && from == 1);
  return unused;
}

static void *reads_pipe(void *unused) {
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1 && data == 1);
  return unused;
}

static char last;
static struct iovec one = {.iov_base = &last, .iov_len = 1};

static void *writes_at(void *unused) {
  struct iovec byte = {.iov_base = "b", .iov_len = 1};
  data = 1;
  CHECK(pwritev(file, &byte, 1, 1) == 1);
  return unused;
}

static void *reads_at(void *unused) {
  ssize_t size;
  while ((size = preadv(file, &one, 1, 1)) == 0)
    ;
  CHECK(size == 1 && last == 'b' && data == 1);
  return unused;
}

static void *writes_with_flags(void *unused) {
  struct iovec byte = {.iov_base = "b", .iov_len = 1};
  data = 1;
  CHECK(pwritev2(file, &byte, 1, 1, RWF_DSYNC) == 1);
  return unused;
}

static void *reads_with_flags(void *unused) {
  ssize_t size;
  while ((size = preadv2(file, &one, 1, 1, RWF_HIPRI)) == 0)
    ;
  CHECK(size == 1 && last == 'b' && data == 1);
  return unused;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  char name[] = "/tmp/wide-XXXXXX";
  pthread_t threads[2];
  file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  CHECK(pwrite(file, "a", 1, 0) == 1 && pipe(ends) == 0);
  void *(*first)(void *) = writes_at, *(*second)(void *) = reads_at;
  if (strcmp(way, "sendfile") == 0)
    first = sends_file, second = reads_pipe;
  else if (strcmp(way, "flags") == 0)
    first = writes_with_flags, second = reads_with_flags;
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
