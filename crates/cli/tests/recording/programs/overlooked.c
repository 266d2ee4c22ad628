/* One thread changes something after it has written x, and another one reads x only if it finds that
 * changed: where what is changed is memory of the program that a function or an instruction uses
 * unseen, or where the kernel tells of it in a roundabout way. The first argument says which, the
 * second is a folder for files; without arguments, all ways are printed. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <linux/membarrier.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096 };
static int x, fds[2], lowest;
static char name[1024];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nothing(void) {}

/* Numbers are multiplied by what is kept. */
static void seed(void) { srand48(1); }
static unsigned short factors[7] = {1, 2, 3, 4, 5, 6, 7};
static void choose_factors(void) { lcong48(factors); }

static int multiplies_otherwise(void) {
  unsigned short numbers[3] = {1, 2, 3};
  return jrand48(numbers) != 1898359750;
}

/* What says how locks are made. */
static pthread_mutexattr_t kind;
static void make_kind(void) { CHECK(pthread_mutexattr_init(&kind) == 0); }

static void choose_kind(void) {
  pthread_mutex_lock(&lock);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_unlock(&lock);
}

static int is_recursive(void) {
  int found;
  pthread_mutex_lock(&lock);
  pthread_mutexattr_gettype(&kind, &found);
  pthread_mutex_unlock(&lock);
  return found == PTHREAD_MUTEX_RECURSIVE;
}

/* Texts that functions read. */
static char text[16] = "b";

static void change_text(void) {
  pthread_mutex_lock(&lock);
  text[0] = 'a';
  pthread_mutex_unlock(&lock);
}

static int is_option(void) {
  char *const options[] = {"a", NULL};
  char *rest = text, *value;
  pthread_mutex_lock(&lock);
  int found = getsubopt(&rest, options, &value);
  pthread_mutex_unlock(&lock);
  return found == 0;
}

#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
static int is_format(void) {
  char printed[16];
  pthread_mutex_lock(&lock);
  snprintf(printed, sizeof printed, text);
  pthread_mutex_unlock(&lock);
  return printed[0] == 'a';
}

static void write_number(void) { strcpy(text, "2"); }

static void change_number(void) {
  pthread_mutex_lock(&lock);
  text[0] = '1';
  pthread_mutex_unlock(&lock);
}

static int is_payload(void) {
  unsigned long bits;
  pthread_mutex_lock(&lock);
  double value = nan(text);
  pthread_mutex_unlock(&lock);
  memcpy(&bits, &value, sizeof bits);
  return (bits & 3) == 1;
}

/* A part of the environment. */
static char setting[] = "FORETRACE_B=1";
static void set(void) { CHECK(putenv(setting) == 0); }

static void rename_setting(void) {
  pthread_mutex_lock(&lock);
  setting[10] = 'A';
  pthread_mutex_unlock(&lock);
}

static int is_set(void) {
  pthread_mutex_lock(&lock);
  int found = getenv("FORETRACE_A") != NULL;
  pthread_mutex_unlock(&lock);
  return found;
}

/* What is free. */
static char *block;

static void make_block(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 25);
  CHECK((block = malloc(1 << 20)) != NULL);
  block[PAGE] = 1;
  malloc_trim(0);
}

static void free_block(void) { free(block); }
static int is_trimmed(void) { return malloc_trim(0); }

/* Barriers that the process has asked for. */
static void ask_for_barriers(void) {
  CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0);
}

static int has_barriers(void) {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* Signals that the kernel sends for what threads do. */
static void block_signal(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static int comes(int number) {
  sigset_t set;
  struct timespec limit = {0, 100000000};
  sigemptyset(&set);
  sigaddset(&set, number);
  return sigtimedwait(&set, NULL, &limit) == number;
}

static void make_pipe(void) {
  CHECK(pipe(fds) == 0);
  block_signal(SIGIO);
  CHECK(fcntl(fds[0], F_SETOWN, getpid()) == 0);
  CHECK(fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0);
}

static void fill(void) { CHECK(write(fds[1], "a", 1) == 1); }
static int is_told(void) { return comes(SIGIO); }

static int is_pending(void) {
  sigset_t set;
  CHECK(sigpending(&set) == 0);
  return sigismember(&set, SIGIO);
}

static int signals;

static void make_signals(void) {
  sigset_t set;
  make_pipe();
  sigemptyset(&set);
  sigaddset(&set, SIGIO);
  CHECK((signals = signalfd(-1, &set, SFD_NONBLOCK)) >= 0);
}

static int has_signal(void) {
  struct signalfd_siginfo found;
  return read(signals, &found, sizeof found) == sizeof found;
}

static struct aiocb request;
static char byte;

static void begin_reading(void) {
  CHECK(pipe(fds) == 0);
  block_signal(SIGUSR1);
  request.aio_fildes = fds[0];
  request.aio_buf = &byte;
  request.aio_nbytes = 1;
  request.aio_sigevent.sigev_notify = SIGEV_SIGNAL;
  request.aio_sigevent.sigev_signo = SIGUSR1;
  CHECK(aio_read(&request) == 0);
}

static int has_read(void) { return comes(SIGUSR1); }

/* Pages that a file no longer has. */
static char *page;
static sigjmp_buf behind;

static void fault(int number) {
  (void)number;
  siglongjmp(behind, 1);
}

static void make_page(void) {
  CHECK((fds[0] = memfd_create("pages", 0)) >= 0 && ftruncate(fds[0], PAGE) == 0);
  page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  CHECK(page != MAP_FAILED && signal(SIGBUS, fault) != SIG_ERR);
}

static void cut(void) { CHECK(ftruncate(fds[0], 0) == 0); }

static int is_cut(void) {
  if (sigsetjmp(behind, 1))
    return 1;
  *(volatile char *)page;
  return 0;
}

/* A number that a thread guesses. */
static void find_lowest(void) { CHECK((lowest = dup(0)) >= 0 && close(lowest) == 0); }
static void open_file(void) { CHECK(open(name, O_RDWR) == lowest); }
static void open_socket(void) { CHECK(socket(AF_UNIX, SOCK_STREAM, 0) == lowest); }
static void open_timer(void) { CHECK(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) == lowest); }
static void open_watch(void) { CHECK(inotify_init1(IN_NONBLOCK) == lowest); }
static void open_memory(void) { CHECK(memfd_create("memory", 0) == lowest); }
static void open_pipe(void) { CHECK(pipe2(fds, O_NONBLOCK) == 0 && fds[0] == lowest); }
static void close_lowest(void) { CHECK(close(lowest) == 0); }

static int is_number(void) {
  struct stat found;
  return fstat(lowest, &found) == 0;
}

static int can_seek(void) { return lseek(lowest, 0, SEEK_CUR) >= 0 || errno != EBADF; }

static int can_poll(void) {
  struct pollfd one = {lowest, POLLIN, 0};
  poll(&one, 1, 0);
  return (one.revents & POLLNVAL) == 0;
}

static void open_root(void) { CHECK((lowest = open("/", O_RDONLY)) >= 0); }
static int is_no_folder(void) { return fchdir(lowest) < 0; }

/* Vectors with masks. */
static int vector[8] __attribute__((aligned(32)));

__attribute__((target("avx2"))) static void store_some(void) {
  pthread_mutex_lock(&lock);
  _mm256_maskstore_epi32(vector, _mm256_set1_epi32(-1), _mm256_set1_epi32(1));
  pthread_mutex_unlock(&lock);
}

static int is_one(void) {
  pthread_mutex_lock(&lock);
  int found = vector[3];
  pthread_mutex_unlock(&lock);
  return found;
}

static void store_one(void) {
  pthread_mutex_lock(&lock);
  vector[3] = 1;
  pthread_mutex_unlock(&lock);
}

__attribute__((target("avx2"))) static int gathers_one(void) {
  __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  pthread_mutex_lock(&lock);
  __m256i found = _mm256_i32gather_epi32(vector, places, 4);
  pthread_mutex_unlock(&lock);
  return _mm256_extract_epi32(found, 3);
}

__attribute__((target("avx2"))) static int loads_one(void) {
  pthread_mutex_lock(&lock);
  __m256i found = _mm256_lddqu_si256((__m256i *)vector);
  pthread_mutex_unlock(&lock);
  return _mm256_extract_epi32(found, 3);
}

static const struct way {
  const char *name;
  void (*prepare)(void);
  void (*change)(void);
  int (*is_changed)(void);
} ways[] = {
    {"factors", seed, choose_factors, multiplies_otherwise},
    {"kind of lock", make_kind, choose_kind, is_recursive},
    {"option", nothing, change_text, is_option},
    {"format", nothing, change_text, is_format},
    {"payload", write_number, change_number, is_payload},
    {"setting", set, rename_setting, is_set},
    {"free memory", make_block, free_block, is_trimmed},
    {"barriers", nothing, ask_for_barriers, has_barriers},
    {"signal of a pipe", make_pipe, fill, is_told},
    {"pending signal", make_pipe, fill, is_pending},
    {"descriptor of signals", make_signals, fill, has_signal},
    {"signal of a request", begin_reading, fill, has_read},
    {"file cut off", make_page, cut, is_cut},
    {"number of a file", find_lowest, open_file, is_number},
    {"number of a socket", find_lowest, open_socket, is_number},
    {"number of a timer", find_lowest, open_timer, can_seek},
    {"number of a watch", find_lowest, open_watch, can_poll},
    {"number of memory", find_lowest, open_memory, can_seek},
    {"number of a pipe", find_lowest, open_pipe, can_poll},
    {"number of a folder", open_root, close_lowest, is_no_folder},
    {"masked store", nothing, store_some, is_one},
    {"gathered load", nothing, store_one, gathers_one},
    {"load of a vector", nothing, store_one, loads_one},
};

static const struct way *way;

static void *tell(void *unused) {
  x = 1;
  way->change();
  return unused;
}

static void *learn(void *unused) {
  if (way->is_changed())
    printf("x is %d\n", x);
  return unused;
}

int main(int count, char **arguments) {
  int has_vectors = __builtin_cpu_supports("avx2");
  for (way = ways; way < ways + sizeof ways / sizeof *ways; way++) {
    int is_vector = way->change == store_some || way->change == store_one;
    if (count == 1 && (has_vectors || !is_vector))
      puts(way->name);
    else if (count > 1 && strcmp(arguments[1], way->name) == 0)
      break;
  }
  if (count == 1)
    return 0;
  CHECK(count == 3 && way < ways + sizeof ways / sizeof *ways);
  snprintf(name, sizeof name, "%s/name", arguments[2]);
  CHECK(mkdir(arguments[2], 0700) == 0 && close(open(name, O_CREAT | O_RDWR, 0600)) == 0);
  way->prepare();
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, learn, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
