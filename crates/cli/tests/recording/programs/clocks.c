/* Threads that sleep, poll with time limits, wait for timers and talk over sockets. Times are kept in memory, so that a
   trace has them. With the argument `slowly`, all limits are a hundred times as long. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define SECOND 1000000000ll

/* How many times as long as usual everything takes. */
static int slow = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long seen[64];
static int count;

static long long now(clockid_t clock) {
  struct timespec time;
  CHECK(clock_gettime(clock, &time) == 0);
  return time.tv_sec * SECOND + time.tv_nsec;
}

/* Keeps a time; each is later than those before it. */
static long long note(void) {
  pthread_mutex_lock(&lock);
  long long time = now(CLOCK_MONOTONIC);
  CHECK(count == 0 || seen[count - 1] <= time);
  if (count < 64)
    seen[count++] = time;
  pthread_mutex_unlock(&lock);
  return time;
}

static void *sleeps(void *unused) {
  for (int i = 0; i < 3; i++) {
    long long before = note();
    usleep(200000 * slow);
    CHECK(note() - before >= slow * (SECOND / 5));
  }
  return unused;
}

static void *polls(void *ends) {
  struct pollfd one = {.fd = *(int *)ends, .events = POLLIN};
  char byte;
  long long before = note();
  int limited = 0;
  while (poll(&one, 1, 50 * slow) == 0)
    limited++;
  CHECK(note() - before >= limited * slow * (SECOND / 20));
  CHECK(read(one.fd, &byte, 1) == 1 && byte == 'x');
  return NULL;
}

static void *ticks(void *unused) {
  int timer = timerfd_create(CLOCK_MONOTONIC, 0), all = epoll_create1(0);
  struct timespec tenth = {slow / 10, slow % 10 * 100000000};
  struct itimerspec every = {tenth, tenth}, left;
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = 7};
  uint64_t times = 0, sum = 0;
  long long before = note();
  CHECK(timerfd_settime(timer, 0, &every, NULL) == 0);
  CHECK(epoll_ctl(all, EPOLL_CTL_ADD, timer, &event) == 0);
  while (sum < 5) {
    memset(&event, 0, sizeof event);
    CHECK(epoll_wait(all, &event, 1, -1) == 1 && event.data.u32 == 7);
    CHECK(read(timer, &times, sizeof times) == 8 && times >= 1);
    sum += times;
    CHECK(note() - before >= (long long)sum * slow * (SECOND / 10));
  }
  CHECK(timerfd_gettime(timer, &left) == 0 && left.it_interval.tv_nsec == tenth.tv_nsec);
  usleep(350000 * slow);
  CHECK(read(timer, &times, sizeof times) == 8 && times >= 3);
  every = (struct itimerspec){{0, 0}, {0, 0}};
  CHECK(timerfd_settime(timer, 0, &every, NULL) == 0);
  CHECK(epoll_wait(all, &event, 1, 10) == 0);
  close(timer);
  close(all);
  return unused;
}

static void *answers(void *listening) {
  char text[8];
  int one = accept(*(int *)listening, NULL, NULL);
  CHECK(one >= 0);
  note();
  CHECK(read(one, text, sizeof text) == 4);
  usleep(30000);
  CHECK(write(one, "pong", 4) == 4);
  close(one);
  return NULL;
}

static void converse(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listening = socket(AF_INET, SOCK_STREAM, 0), own = socket(AF_INET, SOCK_STREAM, 0);
  pthread_t other;
  char text[8];
  CHECK(bind(listening, (struct sockaddr *)&address, length) == 0 && listen(listening, 1) == 0);
  CHECK(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
  CHECK(pthread_create(&other, NULL, answers, &listening) == 0);
  CHECK(connect(own, (struct sockaddr *)&address, length) == 0);
  CHECK(write(own, "ping", 4) == 4 && read(own, text, sizeof text) == 4);
  note();
  pthread_join(other, NULL);
  close(own);
  close(listening);
}

int main(int argc, char **argv) {
  pthread_t threads[3];
  int ends[2];
  fd_set none;
  slow = argc > 1 && strcmp(argv[1], "slowly") == 0 ? 100 : 1;
  struct timeval limit = {slow / 2, slow % 2 * 500000};
  long long wall = now(CLOCK_REALTIME), before = note();
  CHECK(time(NULL) >= wall / SECOND);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(pthread_create(&threads[0], NULL, sleeps, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, polls, &ends[0]) == 0);
  CHECK(pthread_create(&threads[2], NULL, ticks, NULL) == 0);
  FD_ZERO(&none);
  FD_SET(ends[1], &none);
  CHECK(select(ends[1] + 1, &none, NULL, NULL, &limit) == 0);
  CHECK(note() - before >= slow * (SECOND / 2));
  CHECK(write(ends[1], "x", 1) == 1);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  converse();
  /* A loop that waits for a time ends. */
  before = note();
  while (now(CLOCK_MONOTONIC) < before + 200000)
    ;
  CHECK(now(CLOCK_REALTIME) - wall >= SECOND / 2);
  return 0;
}
