/* A server leaves it to the kernel which port it gets. Its clients, in the same process, look that
   port up by its text. They race on `answers`. */

#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

enum { CLIENTS = 2 };
static int listener, answers;
static char port[8];

static void *serve(void *unused) {
  for (int i = 0; i < CLIENTS; i++) {
    char byte;
    int client = accept(listener, NULL, NULL);
    CHECK(client >= 0 && read(client, &byte, 1) == 1 && write(client, &byte, 1) == 1);
    CHECK(close(client) == 0);
  }
  return unused;
}

static void *ask(void *unused) {
  struct addrinfo *found, wanted;
  struct sockaddr_in peer;
  socklen_t size = sizeof peer;
  char byte = 'a', text[8];
  memset(&wanted, 0, sizeof wanted);
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  CHECK(getaddrinfo("127.0.0.1", port, &wanted, &found) == 0);
  int server = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(server, found->ai_addr, found->ai_addrlen) == 0);
  CHECK(getpeername(server, (struct sockaddr *)&peer, &size) == 0);
  snprintf(text, sizeof text, "%d", ntohs(peer.sin_port));
  CHECK(strcmp(text, port) == 0);
  CHECK(write(server, &byte, 1) == 1 && read(server, &byte, 1) == 1 && byte == 'a');
  answers++;
  freeaddrinfo(found);
  CHECK(close(server) == 0);
  return unused;
}

int main(void) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  pthread_t server, clients[CLIENTS];
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
  CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(listener, CLIENTS) == 0);
  CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
  snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
  CHECK(pthread_create(&server, NULL, serve, NULL) == 0);
  for (int i = 0; i < CLIENTS; i++)
    CHECK(pthread_create(&clients[i], NULL, ask, NULL) == 0);
  for (int i = 0; i < CLIENTS; i++)
    CHECK(pthread_join(clients[i], NULL) == 0);
  CHECK(pthread_join(server, NULL) == 0);
  return 0;
}
