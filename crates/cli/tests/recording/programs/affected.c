/* One thread changes what others may do, or ends, after it has written x; another one reads x only
 * if that affects it: it is refused something, or finds hidden state changed. The first argument
 * says how, the second is a folder for files; without arguments, all ways are printed that the user
 * can go. */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "check.h"

enum { PAGE = 4096, UNUSED = 200, NOBODY = 65534 };
static int x, file, number;
static char name[1024], text[8];
static char *page;
static pthread_t threads[2];
static clockid_t its_clock = CLOCK_MONOTONIC;

static void nothing(void) {}

/* Who may open what. */
static void become_nobody(void) { CHECK(seteuid(NOBODY) == 0); }
static int is_denied(void) { return open(name, O_RDONLY) < 0 && errno == EACCES; }

/* How many descriptors there are. */
static void limit_files(void) {
  struct rlimit limit = {77, 77};
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void limit_by_number(void) {
  struct rlimit limit = {77, 77};
  CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL) == 0);
}

static int has_no_number(void) { return dup2(STDIN_FILENO, UNUSED) < 0; }

static void take_number(void) { CHECK(dup2(STDIN_FILENO, UNUSED) == UNUSED); }
static int has_stream(void) { return fdopen(UNUSED, "r") != NULL; }

/* System calls that fail from now on, in all threads. */
static void filter(void) {
  struct sock_filter steps[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static int is_filtered(void) { return syscall(SYS_getppid) < 0; }

/* Pages, by the numbers of the calls. */
static sigjmp_buf behind;

static void fault(int signal) {
  (void)signal;
  siglongjmp(behind, 1);
}

static void make_page(void) {
  page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && signal(SIGSEGV, fault) != SIG_ERR);
}

static void protect(void) { CHECK(syscall(SYS_mprotect, page, PAGE, PROT_NONE) == 0); }

static int is_protected(void) {
  if (sigsetjmp(behind, 1))
    return 1;
  *(volatile char *)page;
  return 0;
}

static void unmap(void) { CHECK(munmap(page, PAGE) == 0); }
static int is_unmapped(void) { return syscall(SYS_madvise, page, PAGE, MADV_NORMAL) < 0; }

static void make_text(void) {
  CHECK((file = open(name, O_RDWR)) >= 0 && pwrite(file, "told", 4, 0) == 4);
}

static void fetch(void) {
  struct iovec to = {text, sizeof text};
  CHECK(syscall(SYS_preadv, file, &to, 1, 0, 0) == 4);
}

static int is_fetched(void) { return __atomic_load_n(text, __ATOMIC_SEQ_CST) == 't'; }

/* State of the process and of libraries. */
static void handle(void) {
  struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static void interrupt(void) { CHECK(siginterrupt(SIGUSR1, 1) == 0); }

static int interrupts(void) {
  struct sigaction found;
  CHECK(sigaction(SIGUSR1, NULL, &found) == 0);
  return (found.sa_flags & SA_RESTART) == 0;
}

static void forbid_dumps(void) { CHECK(syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) == 0); }
static int has_no_dumps(void) { return syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 0; }

static int next_key(void) {
  tss_t key;
  CHECK(tss_create(&key, NULL) == thrd_success);
  return (int)key;
}

static void make_key(void) {
  number = next_key();
  tss_delete((tss_t)number);
}

static void take_key(void) { next_key(); }
static int is_key_taken(void) { return next_key() != number; }

static void choose_letters(void) { CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL); }
static void begin_letter(void) { mbrlen("\xc3", 1, NULL); }
static int ends_letter(void) { return mbrlen("\xa4", 1, NULL) == 1; }

static pthread_mutex_t lock;

static void make_lock(void) {
  pthread_mutexattr_t how;
  CHECK(pthread_mutexattr_init(&how) == 0);
  CHECK(pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_PROTECT) == 0);
  CHECK(pthread_mutexattr_setprioceiling(&how, 5) == 0);
  CHECK(pthread_mutex_init(&lock, &how) == 0);
  CHECK(pthread_mutex_getprioceiling(&lock, &number) == 0);
}

static void raise_ceiling(void) {
  int before;
  CHECK(pthread_mutex_setprioceiling(&lock, number + 1, &before) == 0);
}

static int is_raised(void) {
  int found;
  CHECK(pthread_mutex_getprioceiling(&lock, &found) == 0);
  return found != number;
}

static void complain(void) { error(0, 0, "told"); }
static int has_complained(void) { return error_message_count > 0; }

/* A thread that has another name, or has ended. */
static _Atomic pthread_t learner;

static void name_it(void) {
  while (learner == 0)
    sched_yield();
  pthread_setname_np(learner, "told");
}

static int has_name(void) {
  char found[16] = "";
  learner = pthread_self();
  for (int i = 0; i < 5; i++)
    sched_yield();
  CHECK(prctl(PR_GET_NAME, found) == 0);
  return strcmp(found, "told") == 0;
}

static int has_no_clock(void) {
  clockid_t found;
  return pthread_getcpuclockid(threads[0], &found) != 0;
}

static int has_clock_stopped(void) {
  struct timespec now;
  return clock_gettime(its_clock, &now) < 0;
}

static _Atomic int kernel_number;

static int is_gone(void) {
  return kernel_number != 0 && syscall(SYS_tgkill, getpid(), kernel_number, 0) < 0;
}

static const struct way {
  const char *name;
  void (*prepare)(void);
  void (*change)(void);
  int (*is_changed)(void);
} ways[] = {
    {"user", nothing, become_nobody, is_denied}, /* For root only. */
    {"limit", nothing, limit_files, has_no_number},
    {"limit by number", nothing, limit_by_number, has_no_number},
    {"number of a stream", nothing, take_number, has_stream},
    {"filter", nothing, filter, is_filtered},
    {"protected page", make_page, protect, is_protected},
    {"page that is gone", make_page, unmap, is_unmapped},
    {"bytes", make_text, fetch, is_fetched},
    {"interrupted calls", handle, interrupt, interrupts},
    {"dumps", nothing, forbid_dumps, has_no_dumps},
    {"key", make_key, take_key, is_key_taken},
    {"half a letter", choose_letters, begin_letter, ends_letter},
    {"ceiling", make_lock, raise_ceiling, is_raised},
    {"complaints", nothing, complain, has_complained},
    {"name", nothing, name_it, has_name},
    {"ended thread", nothing, nothing, has_no_clock},
    {"stopped clock", nothing, nothing, has_clock_stopped},
    {"number of a thread", nothing, nothing, is_gone},
};

static const struct way *way;

static void *tell(void *unused) {
  kernel_number = gettid();
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
  for (way = ways; way < ways + sizeof ways / sizeof *ways; way++) {
    if (count == 1 && (way != ways || geteuid() == 0))
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
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  pthread_getcpuclockid(threads[0], &its_clock);
  CHECK(pthread_create(&threads[1], NULL, learn, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
