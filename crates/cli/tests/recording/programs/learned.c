/* One thread changes something that the kernel or the C library keeps, after it has written x;
 * another one reads x only if it finds that changed. The first argument says what is changed, the second is a folder
 * for files; without arguments, all ways are printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
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

static int is_no_terminal(void) {
  errno = 0;
  return !isatty(fds[0]) && errno == EBADF;
}

static int is_not_synchronised(void) { return fsync(fds[0]) < 0 && errno == EBADF; }

static pthread_t first;
static void note_thread(void) { first = pthread_self(); }
static void name_thread(void) { CHECK(pthread_setname_np(first, "named") == 0); }

static int is_named(void) {
  char found[16];
  CHECK(pthread_getname_np(first, found, sizeof found) == 0);
  return strcmp(found, "named") == 0;
}

static void choose_policy(void) {
  struct sched_param none = {0};
  CHECK(sched_setscheduler(getpid(), SCHED_BATCH, &none) == 0);
}

static int is_chosen(void) { return sched_getscheduler(getpid()) == SCHED_BATCH; }
static void forbid_dumps(void) { CHECK(prctl(PR_SET_DUMPABLE, 0) == 0); }
static int has_no_dumps(void) { return prctl(PR_GET_DUMPABLE) == 0; }

static void limit_files(void) {
  struct rlimit limit = {77, 77};
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static int has_few_files(void) { return sysconf(_SC_OPEN_MAX) == 77; }
static void lead_group(void) { CHECK(setpgid(0, 0) == 0); }
static int leads_group(void) { return getpgrp() == getpid(); }

/* A tree whose nodes are the C library's own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;
static int planted = 3;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void plant(void) {
  pthread_mutex_lock(&lock);
  CHECK(tsearch(&planted, &tree, compare) != NULL);
  pthread_mutex_unlock(&lock);
}

static int is_planted(void) {
  pthread_mutex_lock(&lock);
  int found = tfind(&planted, &tree, compare) != NULL;
  pthread_mutex_unlock(&lock);
  return found;
}

/* Pages that are given back, as a whole or in part, or move. */
enum { PAGE = 4096 };
static char *pages;

static char *map(char *at) {
  int how = MAP_PRIVATE | MAP_ANONYMOUS;
  return mmap(at, PAGE, PROT_READ | PROT_WRITE, how, -1, 0);
}

static void make_pages(void) {
  int how = MAP_PRIVATE | MAP_ANONYMOUS;
  pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, how, -1, 0);
  CHECK(pages != MAP_FAILED);
}

static void unmap(void) { CHECK(munmap(pages, 3 * PAGE) == 0); }
static int is_unmapped(void) { return msync(pages, PAGE, MS_ASYNC) < 0; }
static void unmap_middle(void) { CHECK(munmap(pages + PAGE, PAGE) == 0); }
static int has_middle(void) { return map(pages + PAGE) == pages + PAGE; }
static int has_first(void) { return map(pages) == pages; }

static void move_pages(void) {
  CHECK(mremap(pages, 3 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
}

/* The same memory at two addresses. */
static _Atomic int *one, *same;

static void attach_twice(void) {
  id = shmget(IPC_PRIVATE, PAGE, 0600);
  one = shmat(id, NULL, 0);
  same = shmat(id, NULL, 0);
  CHECK(one != (void *)-1 && same != (void *)-1 && shmctl(id, IPC_RMID, NULL) == 0);
}

static void map_twice(void) {
  make_memory();
  make_pages();
  int how = MAP_SHARED | MAP_FIXED;
  CHECK(ftruncate(fds[0], PAGE) == 0);
  one = mmap(pages, PAGE, PROT_READ | PROT_WRITE, how, fds[0], 0);
  same = mmap(pages + PAGE, PAGE, PROT_READ | PROT_WRITE, how, fds[0], 0);
  CHECK(one != MAP_FAILED && same != MAP_FAILED);
}

static void store_one(void) { *one = 1; }
static int same_is_stored(void) { return *same == 1; }

/* What another thread has in its memory, as the kernel shows it. */
static _Atomic int word;
static void store_word(void) { word = 1; }

static int shows_word(void) {
  int found = 0;
  int memory = open("/proc/self/mem", O_RDONLY);
  CHECK(memory >= 0 && pread(memory, &found, sizeof found, (off_t)&word) == sizeof found);
  return found;
}

static int copies_word(void) {
  int found = 0;
  struct iovec to = {&found, sizeof found}, from = {(void *)&word, sizeof found};
  CHECK(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof found);
  return found;
}

static void make_messages(void) {
  struct mq_attr few = {.mq_maxmsg = 2, .mq_msgsize = 8};
  snprintf(other, sizeof other, "/foretrace-%d", getpid());
  fds[0] = mq_open(other, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &few);
  CHECK(fds[0] >= 0 && mq_unlink(other) == 0);
}

static void send_queued(void) { CHECK(mq_send(fds[0], "a", 1, 0) == 0); }

static struct sockaddr_in address = {.sin_family = AF_INET};

static void make_sockets(void) {
  socklen_t size = sizeof address;
  CHECK((fds[0] = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
  CHECK((fds[1] = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(fds[0], (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(fds[0], 1) == 0);
  CHECK(getsockname(fds[0], (struct sockaddr *)&address, &size) == 0);
}

static void connect_it(void) {
  CHECK(connect(fds[1], (struct sockaddr *)&address, sizeof address) == 0);
}

static int is_connected(void) {
  struct sockaddr_in found;
  socklen_t size = sizeof found;
  return getpeername(fds[1], (struct sockaddr *)&found, &size) == 0;
}

/* What the kernel says of the process by names of files. */
static void take_number(void) { CHECK(dup2(STDIN_FILENO, 77) == 77); }
static int has_number(void) { return access("/proc/self/fd/77", F_OK) == 0; }

static int has_link(void) {
  char found[64];
  return readlink("/proc/self/fd/77", found, sizeof found) > 0;
}

static int has_grown_unnamed(void) {
  struct stat found;
  CHECK(fstatat(fds[0], "", &found, AT_EMPTY_PATH) == 0);
  return found.st_size == 100;
}

/* Which pages are there. */
static char *const place = (char *)0x600000000000;
static void take_place(void) { CHECK(map(place) != MAP_FAILED); }
static int is_taken(void) { return map(place) != place; }

static int is_in_core(void) {
  unsigned char found;
  return mincore(place, PAGE, &found) == 0;
}

static void make_block(void) { CHECK((pages = malloc(1000000)) != NULL); }
static void free_block(void) { free(pages); }
static int is_block_free(void) { return mallinfo2().hblks == 0; }

/* A file that is changed in memory. */
static void make_mapped(void) {
  CHECK((fds[0] = open(name, O_RDWR)) >= 0 && ftruncate(fds[0], PAGE) == 0);
  one = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  CHECK(one != MAP_FAILED);
}

static int is_in_copy(void) {
  int *copy = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fds[0], 0);
  CHECK(copy != MAP_FAILED);
  return *copy == 1;
}

static int is_in_stream(void) {
  int found = 0;
  FILE *stream = fopen(name, "r");
  CHECK(stream != NULL && fread(&found, sizeof found, 1, stream) == 1 && fclose(stream) == 0);
  return found == 1;
}

static int is_sent(void) {
  int ends[2], found = 0;
  CHECK(pipe(ends) == 0 && sendfile(ends[1], fds[0], NULL, sizeof found) == sizeof found);
  CHECK(read(ends[0], &found, sizeof found) == sizeof found);
  return found == 1;
}

/* A handler that runs wherever the signal arrives. */
static _Atomic int handled;
static void handle(int signal) { handled = signal; }
static void install(void) { CHECK(signal(SIGUSR2, handle) != SIG_ERR); }
static void send_signal(void) { CHECK(kill(getpid(), SIGUSR2) == 0); }

static int is_handled(void) {
  for (int tries = 0; tries < 20 && !handled; tries++)
    sched_yield();
  return handled;
}

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
    {"terminal", make_pipe, close_it, is_no_terminal},
    {"synchronised file", make_pipe, close_it, is_not_synchronised},
    {"name of a thread", note_thread, name_thread, is_named},
    {"policy of a thread", nothing, choose_policy, is_chosen},
    {"dumps", nothing, forbid_dumps, has_no_dumps},
    {"number of files", nothing, limit_files, has_few_files},
    {"process group", nothing, lead_group, leads_group},
    {"tree", nothing, plant, is_planted},
    {"pages that are gone", make_pages, unmap, is_unmapped},
    {"page in the middle", make_pages, unmap_middle, has_middle},
    {"pages that moved", make_pages, move_pages, has_first},
    {"segment", attach_twice, store_one, same_is_stored},
    {"pages at fixed places", map_twice, store_one, same_is_stored},
    {"memory of the process", nothing, store_word, shows_word},
    {"copied memory", nothing, store_word, copies_word},
    {"name of a descriptor", nothing, take_number, has_number},
    {"link of a descriptor", nothing, take_number, has_link},
    {"size without a name", make_memory, grow, has_grown_unnamed},
    {"taken pages", nothing, take_place, is_taken},
    {"pages in core", nothing, take_place, is_in_core},
    {"blocks in use", make_block, free_block, is_block_free},
    {"copy of pages", make_mapped, store_one, is_in_copy},
    {"pages by a stream", make_mapped, store_one, is_in_stream},
    {"pages that are sent", make_mapped, store_one, is_sent},
    {"handler somewhere", install, send_signal, is_handled},
    {"readiness of a queue", make_messages, send_queued, is_ready},
    {"address of a socket", make_sockets, connect_it, is_connected},
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
