/* A thread waits for an epoll object that watches nothing but an eventfd. Meanwhile another one connects to the port of the first argument
   and lets it watch that, too. What was stored before the request was sent is there when the answer comes; `total` has a race. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "check.h"

static int epoll, ready, request;
static volatile int total;

static void *waits(void *unused) {
  struct epoll_event event;
  char answer = 0;
  CHECK(write(ready, "x", 1) == 1);
  CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
  CHECK(request == 7);
  CHECK(read(event.data.fd, &answer, 1) == 1 && answer == 'x');
  total += 1;
  return unused;
}

int main(int count, char **arguments) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  struct epoll_event event = {.events = EPOLLIN};
  int ends[2], nothing = eventfd(0, 0), server = socket(AF_INET, SOCK_STREAM, 0);
  char byte;
  pthread_t waiter;
  CHECK(count == 2 && pipe(ends) == 0);
  ready = ends[1];
  epoll = epoll_create1(0);
  event.data.fd = nothing;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, nothing, &event) == 0);
  CHECK(pthread_create(&waiter, NULL, waits, NULL) == 0);
  CHECK(read(ends[0], &byte, 1) == 1);
  usleep(20000); /* Now it waits. */
  address.sin_port = htons((unsigned short)atoi(arguments[1]));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(server, (struct sockaddr *)&address, sizeof address) == 0);
  event.data.fd = server;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, server, &event) == 0);
  request = 7;
  CHECK(send(server, "x", 1, 0) == 1);
  total += 2;
  CHECK(pthread_join(waiter, NULL) == 0);
  return 0;
}
