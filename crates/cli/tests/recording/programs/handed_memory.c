/* Two threads share memory that code without instrumentation reads or writes, under a lock: one has
 * written x before, the other one reads x only if it finds what the first one did. Nothing here
 * races, but what "private" does on purpose. The argument says what is meant; without one, all
 * ways that do not race are printed. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "check.h"

int foreign_read(const int *from);
void foreign_write(int *to, int value);
int foreign_read_behind(int *const *from);
void foreign_keep(int *where);
int foreign_read_kept(void);
void foreign_write_kept(int value);

static int x, number, *numbers;
static char *text;
static wchar_t *wide;
static FILE *stream;
static char *streamed;
static size_t size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nothing(void) {}

/* Code of which nothing is known. */
static void store(void) { numbers[0] = 1; }
static int foreign_reads(void) { return foreign_read(numbers) == 1; }
static void foreign_writes(void) { foreign_write(numbers + 1, 1); }
static int is_written(void) { return numbers[1] == 1; }
static void foreign_writes_variable(void) { foreign_write(&number, 1); }
static int is_variable_written(void) { return number == 1; }

/* It reaches memory by other memory, or by an address that it has kept. */
static int foreign_reads_behind(void) {
  struct {
    int number, *numbers;
  } both = {1, numbers};
  return foreign_read_behind(&both.numbers) == 1;
}

static void keep_numbers(void) { foreign_keep(numbers); }
static int foreign_reads_kept(void) { return foreign_read_kept() == 1; }
static void foreign_writes_kept(void) { foreign_write_kept(1); }
static int is_kept_written(void) { return numbers[0] == 1; }

/* Not yet written elsewhere: the other thread comes first, and says so. */
static int is_not_written(void) { return numbers[2] == 0; }
static void foreign_writes_late(void) { foreign_write(numbers + 2, 1); }

/* What one thread has stored is moved by another one. */
static int is_moved(void) {
  numbers = realloc(numbers, 100000);
  CHECK(numbers != NULL);
  return numbers[0] == 1;
}

/* Functions of the C library that are called through pointers. */
static int (*volatile compare)(const char *, const char *) = strcmp;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void change(void) { text[0] = '1'; }
static int compares(void) { return compare(text, "1") == 0; }
static void copies(void) { copy(text + 8, "1", 2); }
static int is_copied(void) { return text[8] == '1'; }

/* Wide characters. */
static void change_wide(void) { wide[0] = L'1'; }
static int compares_wide(void) { return wcscmp(wide, L"1") == 0; }
static void prints_wide(void) { CHECK(swprintf(wide + 8, 8, L"%d", 17) == 2); }
static int is_printed_wide(void) { return wide[8] == L'1'; }

static int prints_from_wide(void) {
  char to[8];
  snprintf(to, sizeof to, "%ls", wide);
  return to[0] == '1';
}

static int converts_wide(void) {
  char to[8];
  CHECK(wcstombs(to, wide, sizeof to) == 1);
  return to[0] == '1';
}

/* Streams in memory, and with a buffer of the program. */
static void open_text(void) { CHECK((stream = open_memstream(&streamed, &size)) != NULL); }
static void open_buffer(void) { CHECK((stream = fmemopen(text + 8, 8, "w")) != NULL); }

static void open_input(void) {
  CHECK((stream = fmemopen(text, 2, "r")) != NULL);
  CHECK(setvbuf(stream, NULL, _IONBF, 0) == 0);
}

static void open_file(void) {
  CHECK((stream = tmpfile()) != NULL && setvbuf(stream, text + 8, _IOFBF, 4096) == 0);
}

static void print(void) { CHECK(fputs("1", stream) >= 0 && fflush(stream) == 0); }
static void print_only(void) { CHECK(fputs("1", stream) >= 0); }
static int is_longer(void) { return size == 1; }
static int reads_input(void) { return fgetc(stream) == '1'; }

/* Results of calls that are stored in memory of the caller. */
static void wait_for_child(void) {
  pid_t child = fork();
  if (child == 0)
    _exit(1);
  CHECK(waitpid(child, numbers + 1, 0) == child);
}

static int has_status(void) { return numbers[1] == 0x100; }

static void count_bytes(void) {
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], "a", 1) == 1);
  CHECK(ioctl(ends[0], FIONREAD, numbers + 1) == 0);
}

static void take_apart(void) { CHECK(frexp(1.0, numbers + 1) == 0.5); }

static const struct way {
  const char *name;
  void (*prepare)(void);
  void (*tell)(void);
  int (*learn)(void);
} ways[] = {
    {"read elsewhere", nothing, store, foreign_reads},
    {"written elsewhere", nothing, foreign_writes, is_written},
    {"variable written elsewhere", nothing, foreign_writes_variable, is_variable_written},
    {"read behind an address", nothing, store, foreign_reads_behind},
    {"read by a kept address", keep_numbers, store, foreign_reads_kept},
    {"written by a kept address", keep_numbers, foreign_writes_kept, is_kept_written},
    {"moved", nothing, store, is_moved},
    {"read through a pointer", nothing, change, compares},
    {"written through a pointer", nothing, copies, is_copied},
    {"wide text", nothing, change_wide, compares_wide},
    {"wide text written", nothing, prints_wide, is_printed_wide},
    {"wide text printed", nothing, change_wide, prints_from_wide},
    {"wide text converted", nothing, change_wide, converts_wide},
    {"stream of a text", open_text, print, is_longer},
    {"stream to a buffer", open_buffer, print, is_copied},
    {"stream from a buffer", open_input, change, reads_input},
    {"stream with a buffer", open_file, print_only, is_copied},
    {"status of a child", nothing, wait_for_child, has_status},
    {"number of bytes", nothing, count_bytes, is_written},
    {"exponent", nothing, take_apart, is_written},
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

/* Who finds that the other one has not come yet is the first. */
static void *come_first(void *unused) {
  pthread_mutex_lock(&lock);
  if (is_not_written())
    x++;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *come_last(void *unused) {
  pthread_mutex_lock(&lock);
  foreign_writes_late();
  pthread_mutex_unlock(&lock);
  x++;
  return unused;
}

/* What each thread has for itself says nothing about the other. */
static void *count(void *unused) {
  int own = 1, *block = malloc(sizeof *block);
  foreign_write(block, foreign_read(&own));
  block = realloc(block, 1000);
  x += *block;
  free(block);
  return unused;
}

int main(int arguments, char **argument) {
  const struct way *end = ways + sizeof ways / sizeof *ways;
  int is_private = arguments > 1 && strcmp(argument[1], "private") == 0;
  int is_late = arguments > 1 && strcmp(argument[1], "not yet written") == 0;
  pthread_t threads[2];
  for (way = ways; way < end; way++) {
    if (arguments == 1)
      puts(way->name);
    else if (strcmp(argument[1], way->name) == 0)
      break;
  }
  if (arguments == 1)
    return 0;
  CHECK(is_private || is_late || way < end);
  CHECK((numbers = calloc(1, 16)) != NULL && (text = malloc(8192)) != NULL);
  CHECK((wide = malloc(64 * sizeof *wide)) != NULL);
  numbers[0] = 0;
  strcpy(text, "0");
  wide[0] = L'0';
  wide[1] = 0;
  if (!is_private && !is_late)
    way->prepare();
  void *(*first)(void *) = is_private ? count : is_late ? come_first : tell;
  void *(*second)(void *) = is_private ? count : is_late ? come_last : learn;
  CHECK(pthread_create(&threads[0], NULL, first, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, second, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
