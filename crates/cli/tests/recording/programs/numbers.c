/* What threads do depends on numbers of processes and threads, which are other ones in each run: the first argument says on which. Whoever gives such a
   number back means the process or thread that has it. Then they race. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, guarded, total;
static volatile sig_atomic_t came, sender, value;

static void told(int signal, siginfo_t *info, void *unused) {
  (void)signal;
  (void)unused;
  came++;
  sender = info->si_pid;
  value = info->si_value.sival_int;
}

/* Signals that the process sends to itself, by its number and that of the thread. */
static void send(void) {
  struct sigaction action;
  sigset_t set;
  siginfo_t info;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = told;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(kill(getpid(), SIGUSR1) == 0 && came == 1 && sender == getpid());
  sender = 0;
  CHECK(tgkill(getpid(), gettid(), SIGUSR1) == 0 && came == 2 && sender == getpid());
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && came == 3);
  CHECK(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1) == 0 && came == 4);
  CHECK(syscall(SYS_kill, syscall(SYS_getpid), SIGUSR1) == 0 && came == 5);
  CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 77}) == 0 && came == 6);
  CHECK(value == 77 && sender == getpid());
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && kill(getpid(), SIGUSR2) == 0);
  CHECK(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_pid == getpid());
}

static void ask(void) {
  cpu_set_t set;
  struct rlimit limit;
  CHECK(syscall(SYS_getpid) == getpid() && syscall(SYS_gettid) == gettid());
  CHECK(syscall(SYS_getppid) == getppid() && getppid() > 0 && getppid() != getpid());
  CHECK(getpgrp() == getpgid(0) && getpgid(getpid()) == getpgid(0));
  /* Nothing but 0 where the leader of the session is outside of the container. */
  CHECK(getsid(0) == getsid(getpid()) && getsid(0) >= 0);
  CHECK(sched_getaffinity(gettid(), sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
  CHECK(syscall(SYS_sched_getaffinity, gettid(), sizeof set, &set) > 0);
  CHECK(sched_getscheduler(gettid()) == SCHED_OTHER);
  CHECK(setpriority(PRIO_PROCESS, (id_t)gettid(), 1) == 0);
  CHECK(getpriority(PRIO_PROCESS, (id_t)gettid()) == 1);
  CHECK(prlimit(getpid(), RLIMIT_NOFILE, NULL, &limit) == 0);
}

/* A copy of the process has a number of its own. */
static void copy(void) {
  pid_t own = getpid(), child, here[2];
  int status, ends[2];
  CHECK(pipe(ends) == 0);
  child = fork();
  if (child == 0) {
    here[0] = getpid();
    here[1] = gettid();
    CHECK(getppid() == own && getpid() != own && syscall(SYS_getpid) == getpid());
    CHECK(write(ends[1], here, sizeof here) == sizeof here);
    _exit(3);
  }
  CHECK(child > 0 && child != own);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  CHECK(read(ends[0], here, sizeof here) == sizeof here && here[0] == child && here[1] == child);
}

/* In a session of its own. */
static void lead(void) {
  if (getpgrp() != getpid()) {
    CHECK(setsid() == getpid() && getpgrp() == getpid() && getsid(0) == getpid());
    CHECK(killpg(getpgrp(), 0) == 0 && kill(-getpid(), 0) == 0);
  }
}

static unsigned number(const char *way) {
  if (strcmp(way, "parent") == 0)
    return (unsigned)getppid();
  if (strcmp(way, "thread") == 0)
    return 0;
  if (strcmp(way, "send") == 0)
    send();
  if (strcmp(way, "ask") == 0)
    ask();
  if (strcmp(way, "copy") == 0)
    copy();
  if (strcmp(way, "lead") == 0)
    lead();
  return (unsigned)getpid();
}

static void *adds(void *way) {
  int more = strcmp(way, "thread") == 0 ? gettid() % 89 : 0;
  if (more > 0)
    CHECK(tgkill(getpid(), gettid(), 0) == 0 && gettid() != getpid());
  for (int i = 0; i < rounds + more; i++) {
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
  }
  total++; /* Here is the race. */
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  char *way = count > 1 ? arguments[1] : "";
  unsigned drawn = number(way);
  rounds = (int)(drawn % 89);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, way) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("drawn %u %d\n", drawn, guarded);
  return 0;
}
