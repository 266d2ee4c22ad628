/* What threads do depends on files that the program itself changes: the first argument says how, the second is a folder in which `old` has some bytes. A second run finds something else. Then threads
   race. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, guarded, total;

static unsigned size_of(const char *name) {
  struct stat found;
  CHECK(stat(name, &found) == 0);
  return (unsigned)found.st_size;
}

static void put(const char *name, const char *how, const char *text) {
  FILE *stream = fopen(name, how);
  CHECK(stream && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

/* Each run finds it longer. */
static unsigned append(void) {
  unsigned before = size_of("old");
  int fd = open("old", O_WRONLY | O_APPEND);
  CHECK(write(fd, "more", 4) == 4 && close(fd) == 0 && size_of("./old") == before + 4);
  /* A folder cannot be opened for writing, and stays as it is. */
  CHECK(fopen(".", "a") == NULL && errno == EISDIR && size_of(".") > 0);
  return before;
}

/* A second run finds what the first one made. */
static unsigned make(void) {
  int fd = open("../files/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
  CHECK(fd >= 0 && write(fd, "12345", 5) == 5 && close(fd) == 0);
  CHECK(mkdir("folder", 0700) == 0 && mkdir("folder", 0700) == -1 && errno == EEXIST);
  put("folder/inside", "wx", "123");
  put("stream", "wxe", "1");
  CHECK(access("stream", R_OK) == 0);
  return size_of("new") + size_of("folder/inside");
}

/* A second run does not find what the first one removed. */
static unsigned move(void) {
  unsigned size = size_of("old");
  put("other", "w", "1234567");
  CHECK(rename("old", "moved") == 0 && access("old", F_OK) == -1 && errno == ENOENT);
  CHECK(rename("other", "moved") == 0 && size_of("moved") == 7);
  CHECK(truncate("moved", 2) == 0 && unlink("moved") == 0 && rmdir("empty") == 0);
  return size;
}

/* Names that nobody knows before. */
static unsigned temporary(void) {
  char file[] = "file-XXXXXX", folder[] = "folder-XXXXXX", inside[64];
  int fd = mkstemp(file);
  unsigned sum = 0;
  CHECK(fd >= 0 && write(fd, "123", 3) == 3 && close(fd) == 0 && size_of(file) == 3);
  CHECK(mkdtemp(folder) == folder);
  snprintf(inside, sizeof inside, "%s/inside", folder);
  put(inside, "wx", "1");
  CHECK(unlink(inside) == 0 && rmdir(folder) == 0 && unlink(file) == 0);
  for (const char *at = file; *at; at++)
    sum += (unsigned)*at;
  return sum;
}

/* It only reads. */
static unsigned reads(void) {
  char text[64] = "";
  FILE *stream = fopen("old", "r");
  CHECK(stream && fread(text, 1, sizeof text - 1, stream) > 0 && fclose(stream) == 0);
  return (unsigned)strlen(text);
}

static void *adds(void *unused) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
  }
  total++; /* Here is the race. */
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  unsigned drawn;
  const char *way;
  CHECK(count > 2 && chdir(arguments[2]) == 0);
  way = arguments[1];
  drawn = strcmp(way, "append") == 0      ? append()
          : strcmp(way, "make") == 0      ? make()
          : strcmp(way, "move") == 0      ? move()
          : strcmp(way, "temporary") == 0 ? temporary()
                                          : reads();
  rounds = (int)(drawn % 89);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, NULL) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("drawn %u\n", drawn);
  return 0;
}
