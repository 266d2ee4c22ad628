/* Two threads share memory that functions of the C library read or write, under a lock: one has
 * written x before, the other one reads x only if it finds what the first one did. Nothing here
 * races. The argument says which function is meant; without one, all ways are printed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "check.h"

static int x, value;
static char *text, *bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The function reads a text that the other thread has changed from 0 to 1. */
static void change(void) { text[0] = '1'; }

static int is_one(const char *found) { return found[0] == '1'; }

static int reads_snprintf(void) {
  char to[8];
  snprintf(to, sizeof to, "%d %% %.2s", 7, text);
  return is_one(to + 4);
}

static void print(char *to, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(to, 32, format, list);
  va_end(list);
}

static int reads_vsnprintf(void) {
  char to[32];
  print(to, "%g%Lg%d%d%d%d%d%s", 1.0, 1.0L, 1, 2, 3, 4, 5, text);
  return is_one(to + 7);
}

static int reads_asprintf(void) {
  char *to;
  CHECK(asprintf(&to, "%s", text) > 0);
  int found = is_one(to);
  free(to);
  return found;
}

static int reads_strndup(void) {
  char *to = strndup(text, 4);
  int found = is_one(to);
  free(to);
  return found;
}

static int reads_stpcpy(void) {
  char to[8];
  CHECK(stpcpy(to, text) == to + 1);
  return is_one(to);
}

static int reads_strncat(void) {
  char to[8] = "";
  return is_one(strncat(to, text, 3));
}

static int reads_memccpy(void) {
  char to[8] = "";
  CHECK(memccpy(to, text, 0, sizeof to) == to + 2);
  return is_one(to);
}

static int reads_mbstowcs(void) {
  wchar_t to[8];
  mbstowcs(to, text, 8);
  return to[0] == L'1';
}

static int reads_regexec(void) {
  regex_t pattern;
  CHECK(regcomp(&pattern, "1", REG_NOSUB) == 0);
  int found = regexec(&pattern, text, 0, NULL, 0) == 0;
  regfree(&pattern);
  return found;
}

static int reads_fwrite(void) {
  char to[2];
  FILE *file = tmpfile();
  CHECK(file != NULL && fwrite(text, 1, 2, file) == 2);
  rewind(file);
  CHECK(fread(to, 1, 2, file) == 2 && fclose(file) == 0);
  return is_one(to);
}

static int reads_strsep(void) {
  char *rest = text;
  strsep(&rest, "1");
  return rest != NULL;
}

static int reads_strncasecmp(void) { return strncasecmp(text, "1x", 1) == 0; }
static int reads_memmem(void) { return memmem(text, 2, "1", 1) != NULL; }
static int reads_memrchr(void) { return memrchr(text, '1', 2) != NULL; }
static int reads_fnmatch(void) { return fnmatch("1*", text, 0) == 0; }

/* What is printed comes back, and with it what the thread had read. */
static void set_value(void) { value = 1; }

static int prints_to_file(void) {
  int found = 0, printed = value;
  FILE *file = tmpfile();
  CHECK(file != NULL);
  fprintf(file, "%d", printed);
  rewind(file);
  CHECK(fscanf(file, "%d", &found) == 1 && fclose(file) == 0);
  return found;
}

static int prints_to_pipe(void) {
  char found;
  int ends[2], printed = value;
  CHECK(pipe(ends) == 0);
  dprintf(ends[1], "%d", printed);
  CHECK(read(ends[0], &found, 1) == 1);
  return found == '1';
}

/* The function writes to memory that nobody has written to before. */
static int is_written(void) { return is_one(bytes); }
static void writes_snprintf(void) { snprintf(bytes, 8, "%d", 1); }
static void writes_sprintf(void) { sprintf(bytes, "%s", "1"); }
static void writes_sscanf(void) { CHECK(sscanf("5 1", "%*d %7[0-9]", bytes) == 1); }
static void writes_wcstombs(void) { wcstombs(bytes, L"1", 8); }
static void writes_fgets(void) { CHECK(fgets(bytes, 8, fmemopen("1", 2, "r")) == bytes); }
static void writes_fread(void) { CHECK(fread(bytes, 1, 1, fmemopen("1", 2, "r")) == 1); }

static void writes_getline(void) {
  size_t size = 64;
  CHECK(getline(&bytes, &size, fmemopen("1", 2, "r")) > 0);
}

static void writes_strftime(void) {
  struct tm day = {.tm_mday = 1};
  CHECK(strftime(bytes, 8, "%e", &day) == 2);
  memmove(bytes, bytes + 1, 2);
}

static int compare(const void *a, const void *b) { return *(const char *)b - *(const char *)a; }

static void writes_qsort(void) {
  memcpy(bytes, "01", 3);
  qsort(bytes, 2, 1, compare);
}

static void writes_stat(void) {
  struct stat *found = (struct stat *)bytes;
  CHECK(stat("/", found) == 0);
}

static int has_stat(void) { return S_ISDIR(((struct stat *)bytes)->st_mode); }
static void writes_time(void) { CHECK(clock_gettime(CLOCK_REALTIME, (void *)bytes) == 0); }
static int has_time(void) { return ((struct timespec *)bytes)->tv_sec > 1000000000; }

static const struct way {
  const char *name;
  void (*tell)(void);
  int (*learn)(void);
} ways[] = {
    {"snprintf", change, reads_snprintf},
    {"vsnprintf", change, reads_vsnprintf},
    {"asprintf", change, reads_asprintf},
    {"strndup", change, reads_strndup},
    {"stpcpy", change, reads_stpcpy},
    {"strncat", change, reads_strncat},
    {"memccpy", change, reads_memccpy},
    {"mbstowcs", change, reads_mbstowcs},
    {"regexec", change, reads_regexec},
    {"fwrite", change, reads_fwrite},
    {"strsep", change, reads_strsep},
    {"strncasecmp", change, reads_strncasecmp},
    {"memmem", change, reads_memmem},
    {"memrchr", change, reads_memrchr},
    {"fnmatch", change, reads_fnmatch},
    {"printed to a file", set_value, prints_to_file},
    {"printed to a pipe", set_value, prints_to_pipe},
    {"written by snprintf", writes_snprintf, is_written},
    {"written by sprintf", writes_sprintf, is_written},
    {"written by sscanf", writes_sscanf, is_written},
    {"written by wcstombs", writes_wcstombs, is_written},
    {"written by fgets", writes_fgets, is_written},
    {"written by fread", writes_fread, is_written},
    {"written by getline", writes_getline, is_written},
    {"written by strftime", writes_strftime, is_written},
    {"written by qsort", writes_qsort, is_written},
    {"written by stat", writes_stat, has_stat},
    {"written by clock_gettime", writes_time, has_time},
};

static const struct way *way;

static void *tell(void *unused) {
  x = 1;
  pthread_mutex_lock(&lock);
  way->tell();
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *learn(void *unused) {
  pthread_mutex_lock(&lock);
  int has_learnt = way->learn();
  pthread_mutex_unlock(&lock);
  if (has_learnt)
    printf("x is %d\n", x);
  return unused;
}

int main(int count, char **arguments) {
  const struct way *end = ways + sizeof ways / sizeof *ways;
  pthread_t threads[2];
  for (way = ways; way < end; way++) {
    if (count == 1)
      puts(way->name);
    else if (strcmp(arguments[1], way->name) == 0)
      break;
  }
  if (count == 1)
    return 0;
  CHECK(way < end);
  CHECK((text = malloc(64)) != NULL && (bytes = malloc(256)) != NULL);
  strcpy(text, "0");
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, learn, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
