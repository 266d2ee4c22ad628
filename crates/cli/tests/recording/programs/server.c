/* A server: the main thread waits for clients and for its workers with epoll, two workers do what clients ask for. It ends when
   it gets SIGTERM. The workers add to `total` without a lock, and to `left` when they are told to stop. With the argument
   `pid`, answers have the number of the process in them; with `tag`, what the environment says. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define MOST 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct job {
  int client, number;
} jobs[MOST];
static int first, last, over;
static int total;
static int done;
static int with_pid, with_tag;
static int left;
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
}

static void *work(void *unused) {
  for (;;) {
    char text[32] = "ok\n";
    uint64_t one = 1;
    pthread_mutex_lock(&lock);
    while (first == last && !over)
      pthread_cond_wait(&more, &lock);
    if (first == last) {
      pthread_mutex_unlock(&lock);
      left++; /* And here is another one. */
      return unused;
    }
    struct job job = jobs[first++ % MOST];
    pthread_mutex_unlock(&lock);
    total += job.number; /* Here is the race. */
    if (with_tag)
      snprintf(text, sizeof text, "tag %s\n", getenv("TAG"));
    if (with_pid)
      snprintf(text, sizeof text, "pid %d\n", getpid());
    CHECK(send(job.client, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
    CHECK(write(done, &one, sizeof one) == sizeof one);
  }
}

static void watch(int all, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  CHECK(epoll_ctl(all, EPOLL_CTL_ADD, fd, &event) == 0);
}

static int listen_somewhere(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
  CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  CHECK(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 8) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
  printf("port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

static void take(int all, int listening) {
  struct sockaddr_in peer;
  socklen_t length = sizeof peer;
  int yes = 1, client;
  while ((client = accept4(listening, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK)) >= 0) {
    CHECK(ntohl(peer.sin_addr.s_addr) == INADDR_LOOPBACK && peer.sin_port != 0);
    CHECK(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0);
    watch(all, client);
    length = sizeof peer;
  }
  CHECK(errno == EAGAIN);
}

static void ask(int all, int client) {
  char text[16];
  ssize_t size = recv(client, text, sizeof text - 1, 0);
  if (size <= 0) {
    CHECK(epoll_ctl(all, EPOLL_CTL_DEL, client, NULL) == 0 && close(client) == 0);
    return;
  }
  text[size] = 0;
  pthread_mutex_lock(&lock);
  jobs[last++ % MOST] = (struct job){client, text[0] - '0'};
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&lock);
}

int main(int count, char **arguments) {
  struct sigaction action;
  pthread_t workers[2];
  struct epoll_event events[4];
  int all = epoll_create1(0), listening, answered = 0;
  with_pid = count > 1 && strcmp(arguments[1], "pid") == 0;
  with_tag = count > 1 && strcmp(arguments[1], "tag") == 0;
  memset(&action, 0, sizeof action);
  action.sa_handler = stop;
  CHECK(sigaction(SIGTERM, &action, NULL) == 0);
  listening = listen_somewhere();
  done = eventfd(0, EFD_NONBLOCK);
  watch(all, listening);
  watch(all, done);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&workers[i], NULL, work, NULL) == 0);
  while (!stopped) {
    int ready = epoll_wait(all, events, 4, 60000);
    CHECK(ready >= 0 || errno == EINTR);
    for (int i = 0; i < ready; i++) {
      uint64_t times;
      if (events[i].data.fd == listening)
        take(all, listening);
      else if (events[i].data.fd == done && read(done, &times, sizeof times) == sizeof times)
        answered += (int)times;
      else if (events[i].data.fd != done)
        ask(all, events[i].data.fd);
    }
  }
  pthread_mutex_lock(&lock);
  over = 1;
  pthread_cond_broadcast(&more);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 2; i++)
    pthread_join(workers[i], NULL);
  close(listening);
  printf("answered %d\n", answered);
  return 0;
}
