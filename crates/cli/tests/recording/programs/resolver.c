/* A library that finds another address each time it is asked: it stands for a name server. Not instrumented. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list) {
  struct addrinfo *found = calloc(1, sizeof *found + sizeof(struct sockaddr_in));
  struct sockaddr_in *address = (struct sockaddr_in *)(void *)(found + 1);
  struct timespec now;
  (void)service;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  address->sin_family = AF_INET;
  address->sin_port = htons(80);
  address->sin_addr.s_addr = htonl((in_addr_t)(now.tv_nsec / 1000));
  *found = *hints;
  found->ai_addr = (struct sockaddr *)address;
  found->ai_addrlen = sizeof *address;
  found->ai_canonname = strdup(host);
  found->ai_next = NULL;
  *list = found;
  return 0;
}
