/* One thread changes something that the kernel keeps, after it has written x; another one reads x
 * only if it finds that changed. The first argument says what is changed, the second is a folder
 * for files; without arguments, all ways are printed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static int x, fds[2], id;
static char name[1024], other[1024], folder[1024];

static void nothing(void) {}
static void make_pipe(void) { CHECK(pipe2(fds, O_NONBLOCK) == 0); }
static void make_pair(void) { CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0); }
static void make_memory(void) { CHECK((fds[0] = memfd_create("memory", 0)) >= 0); }
static void make_counter(void) { fds[0] = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK); }
static void make_queue(void) { CHECK((id = msgget(IPC_PRIVATE, 0600)) >= 0); }
static void make_semaphore(void) { CHECK((id = semget(IPC_PRIVATE, 1, 0600)) >= 0); }

static void make_watch(void) {
  CHECK((fds[0] = inotify_init1(IN_NONBLOCK)) >= 0);
  CHECK(inotify_add_watch(fds[0], name, IN_MODIFY) >= 0);
}

static void make_locked(void) {
  CHECK((fds[0] = open(name, O_RDWR)) >= 0 && (fds[1] = open(name, O_RDWR)) >= 0);
  CHECK(flock(fds[0], LOCK_EX) == 0);
}

static void change_file(void) {
  int file = open(name, O_RDWR);
  CHECK(file >= 0 && write(file, "a", 1) == 1 && close(file) == 0);
}

static int is_noticed(void) {
  char events[4096];
  return read(fds[0], events, sizeof events) > 0;
}

static int is_ready(void) {
  struct pollfd one = {fds[0], POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

static void store(void) { CHECK(pwrite(fds[0], "a", 1, 0) == 1); }

static int is_stored(void) {
  char byte;
  return pread(fds[0], &byte, 1, 0) == 1;
}

static void stop_sending(void) { CHECK(shutdown(fds[0], SHUT_WR) == 0); }

static int is_over(void) {
  char byte;
  return recv(fds[1], &byte, 1, MSG_DONTWAIT) == 0;
}

static void add_one(void) {
  uint64_t one = 1;
  CHECK(write(fds[0], &one, sizeof one) == sizeof one);
}

static int took_one(void) {
  uint64_t one;
  return read(fds[0], &one, sizeof one) == sizeof one;
}

static void forbid(void) { CHECK(chmod(name, 0400) == 0); }

static int is_forbidden(void) {
  struct stat found;
  CHECK(stat(name, &found) == 0);
  return (found.st_mode & 0777) == 0400;
}

static void mask(void) { umask(0123); }

static int is_masked(void) {
  mode_t before = umask(022);
  umask(before);
  return before == 0123;
}

static void go(void) { CHECK(chdir("/") == 0); }

static int is_there(void) {
  char here[4096];
  CHECK(getcwd(here, sizeof here) != NULL);
  return strcmp(here, "/") == 0;
}

static void limit(void) {
  struct rlimit limit = {77, 77};
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
}

static int is_limited(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  return limit.rlim_cur == 77;
}

static void send_message(void) {
  struct { long kind; char text; } message = {1, 'a'};
  CHECK(msgsnd(id, &message, 1, 0) == 0);
}

static int has_message(void) {
  struct { long kind; char text; } message;
  return msgrcv(id, &message, 1, 0, IPC_NOWAIT) >= 0;
}

static void raise_semaphore(void) {
  struct sembuf up = {0, 1, 0};
  CHECK(semop(id, &up, 1) == 0);
}

static int lowered_semaphore(void) {
  struct sembuf down = {0, -1, IPC_NOWAIT};
  return semop(id, &down, 1) == 0;
}

static void fill(void) { CHECK(write(fds[1], "a", 1) == 1); }

static int has_bytes(void) {
  int count = 0;
  CHECK(ioctl(fds[0], FIONREAD, &count) == 0);
  return count > 0;
}

static void let_wait(void) { CHECK(fcntl(fds[0], F_SETFL, 0) == 0); }
static int waits(void) { return (fcntl(fds[0], F_GETFL) & O_NONBLOCK) == 0; }
static void mark(void) { CHECK(fcntl(fds[0], F_SETFD, FD_CLOEXEC) == 0); }
static int is_marked(void) { return fcntl(fds[0], F_GETFD) == FD_CLOEXEC; }
static void close_it(void) { CHECK(close(fds[0]) == 0); }
static int is_closed(void) { return fcntl(fds[0], F_GETFD) < 0; }
static void move(void) { CHECK(lseek(fds[0], 5, SEEK_SET) == 5); }
static int is_moved(void) { return lseek(fds[0], 0, SEEK_CUR) == 5; }

static void keep_alive(void) {
  int yes = 1;
  CHECK(setsockopt(fds[0], SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes) == 0);
}

static int is_kept_alive(void) {
  int yes = 0;
  socklen_t size = sizeof yes;
  CHECK(getsockopt(fds[0], SOL_SOCKET, SO_KEEPALIVE, &yes, &size) == 0);
  return yes;
}

static void date_back(void) {
  struct timespec times[2] = {{5, 0}, {5, 0}};
  CHECK(futimens(fds[0], times) == 0);
}

static int is_dated_back(void) {
  struct stat found;
  CHECK(fstat(fds[0], &found) == 0);
  return found.st_mtime == 5;
}

static void grow(void) { CHECK(ftruncate(fds[0], 100) == 0); }

static int has_grown(void) {
  struct stat found;
  CHECK(fstat(fds[0], &found) == 0);
  return found.st_size == 100;
}

static void give_way(void) { CHECK(setpriority(PRIO_PROCESS, (id_t)getpid(), 13) == 0); }
static int gives_way(void) { return getpriority(PRIO_PROCESS, (id_t)getpid()) == 13; }
static void ignore(void) { CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR); }

static int is_ignored(void) {
  struct sigaction found;
  CHECK(sigaction(SIGUSR1, NULL, &found) == 0);
  return found.sa_handler == SIG_IGN;
}

static void unlock(void) { CHECK(flock(fds[0], LOCK_UN) == 0); }
static int locks(void) { return flock(fds[1], LOCK_EX | LOCK_NB) == 0; }
static void make_folder(void) { CHECK(mkdir(other, 0700) == 0); }
static int is_made(void) { return access(other, F_OK) == 0; }
static int is_renamed(void) { return rename(other, name) == 0; }
static void create(void) { CHECK(close(open(other, O_CREAT | O_RDWR, 0600)) == 0); }

static const struct way {
  const char *name;
  void (*prepare)(void);
  void (*change)(void);
  int (*is_changed)(void);
} ways[] = {
    {"watched file", make_watch, change_file, is_noticed},
    {"readiness of a watch", make_watch, change_file, is_ready},
    {"file in memory", make_memory, store, is_stored},
    {"end of a stream", make_pair, stop_sending, is_over},
    {"counter", make_counter, add_one, took_one},
    {"rights of a file", nothing, forbid, is_forbidden},
    {"rights of new files", nothing, mask, is_masked},
    {"working directory", nothing, go, is_there},
    {"limit", nothing, limit, is_limited},
    {"message", make_queue, send_message, has_message},
    {"semaphore", make_semaphore, raise_semaphore, lowered_semaphore},
    {"bytes in a pipe", make_pipe, fill, has_bytes},
    {"flags of an object", make_pipe, let_wait, waits},
    {"flags of a descriptor", make_pipe, mark, is_marked},
    {"closed descriptor", make_pipe, close_it, is_closed},
    {"place in a file", make_memory, move, is_moved},
    {"option of a socket", make_pair, keep_alive, is_kept_alive},
    {"time of a file", make_memory, date_back, is_dated_back},
    {"size of a file", make_memory, grow, has_grown},
    {"priority", nothing, give_way, gives_way},
    {"handler", nothing, ignore, is_ignored},
    {"lock on a file", make_locked, unlock, locks},
    {"folder", nothing, make_folder, is_made},
    {"new file", nothing, create, is_renamed},
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
  pthread_t threads[2];
  for (way = ways; way < ways + sizeof ways / sizeof *ways; way++) {
    if (count == 1)
      puts(way->name);
    else if (strcmp(arguments[1], way->name) == 0)
      break;
  }
  if (count == 1)
    return 0;
  CHECK(count == 3 && way < ways + sizeof ways / sizeof *ways);
  snprintf(folder, sizeof folder, "%s", arguments[2]);
  snprintf(name, sizeof name, "%s/name", arguments[2]);
  snprintf(other, sizeof other, "%s/other", arguments[2]);
  CHECK(mkdir(folder, 0700) == 0 && close(open(name, O_CREAT | O_RDWR, 0600)) == 0);
  way->prepare();
  CHECK(pthread_create(&threads[0], NULL, tell, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, learn, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
  return 0;
}
