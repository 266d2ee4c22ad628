/* One thread does something that another one notices without any call or access that says so: only
 * then does it read what the first one wrote before. Nothing here races. The argument says what is
 * meant; without one, all ways are printed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

extern char **environ;

static int x;
static char *page, *block, *text;
static char name[] = "/tmp/foretrace-noticed-XXXXXX";
static sigjmp_buf behind;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fault(int signal) {
  (void)signal;
  siglongjmp(behind, 1);
}

/* Pages that cannot be read at first. */
static void close_page(void) {
  CHECK(signal(SIGSEGV, fault) != SIG_ERR);
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
}

static void open_page(void) { CHECK(mprotect(page, 4096, PROT_READ) == 0); }

static int can_read(void) {
  if (sigsetjmp(behind, 1))
    return 0;
  return *(volatile char *)page == 0;
}

/* The other way round: it can be read only at first. */
static void hide_page(void) { CHECK(mprotect(page, 4096, PROT_NONE) == 0); }
static void make_page(void) {
  close_page();
  open_page();
}
static int cannot_read(void) { return !can_read(); }

static void nothing(void) {}
static void set_locale(void) { CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL); }
static int has_locale(void) { return MB_CUR_MAX > 1; }

static void set_variable(void) { CHECK(setenv("NOTICED", "1", 1) == 0); }
static int has_variable(void) {
  for (char **one = environ; *one != NULL; one++)
    if (strcmp(*one, "NOTICED=1") == 0)
      return 1;
  return 0;
}

static void set_zone(void) {
  CHECK(setenv("TZ", "EST5", 1) == 0);
  tzset();
}
static int has_zone(void) { return timezone != 0; }
static int has_name(void) { return strcmp(tzname[0], "EST") == 0; }

static void make_smaller(void) { CHECK(realloc(block, 24) == block); }
static int is_smaller(void) { return malloc_usable_size(block) < 500; }

/* A file that the process opens for writing when it has it in memory already. */
static void map_file(void) {
  int file = mkstemp(name);
  CHECK(file >= 0 && write(file, "0", 1) == 1 && close(file) == 0);
  CHECK((file = open(name, O_RDONLY)) >= 0);
  page = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
  CHECK(page != MAP_FAILED);
}

static void write_file(void) {
  int file = open(name, O_WRONLY);
  CHECK(file >= 0 && write(file, "1", 1) == 1 && close(file) == 0 && unlink(name) == 0);
}

static int is_in_memory(void) { return *(volatile char *)page == '1'; }

static void change_text(void) {
  pthread_mutex_lock(&lock);
  text[0] = '1';
  pthread_mutex_unlock(&lock);
}

static int prints_text(void) {
  char to[8];
  pthread_mutex_lock(&lock);
  snprintf(to, sizeof to, "%2$d%1$s", text, 7);
  pthread_mutex_unlock(&lock);
  return to[1] == '1';
}

/* A thread that looks which numbers are open. */
static void open_number(void) { CHECK(open("/dev/null", O_RDONLY) == 3); }
static int is_open(void) { return fcntl(3, F_GETFD) >= 0; }

static const struct way {
  const char *name;
  void (*prepare)(void);
  void (*tell)(void);
  int (*learn)(void);
} ways[] = {
    {"page", close_page, open_page, can_read},
    {"page that is gone", make_page, hide_page, cannot_read},
    {"locale", nothing, set_locale, has_locale},
    {"environment", nothing, set_variable, has_variable},
    {"time zone", nothing, set_zone, has_zone},
    {"name of the time zone", nothing, set_zone, has_name},
    {"size of a block", nothing, make_smaller, is_smaller},
    {"file in memory", map_file, write_file, is_in_memory},
    {"text by its number", nothing, change_text, prints_text},
    {"open descriptor", nothing, open_number, is_open},
};

static const struct way *way;

static void *tell(void *unused) {
  x = 1;
  way->tell();
  return unused;
}

static void *learn(void *unused) {
  if (way->learn())
    printf("x is %d\n", x);
  return unused;
}

int main(int arguments, char **argument) {
  const struct way *end = ways + sizeof ways / sizeof *ways;
  pthread_t threads[2];
  for (way = ways; way < end; way++) {
    if (arguments == 1)
      puts(way->name);
    else if (strcmp(argument[1], way->name) == 0)
      break;
  }
  if (arguments == 1)
    return 0;
  CHECK(way < end && (block = malloc(1000)) != NULL && (text = calloc(1, 8)) != NULL);
  way->prepare();
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, learn, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
