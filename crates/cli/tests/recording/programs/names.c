/* A process talks to itself by a socket with the name of the first argument, which it removes at its end. `first` and `second` have races. */

#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static volatile int first, second;

static void *connects(void *unused) {
  int client;
  char byte;
  first = 1;
  client = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(write(client, "x", 1) == 1);
  CHECK(read(client, &byte, 1) == 0);
  close(client);
  return unused;
}

static void *watches(void *unused) {
  second = 1;
  return unused;
}

int main(int count, char **arguments) {
  int server, accepted;
  char byte;
  pthread_t client, watcher;
  CHECK(count == 2 && strlen(arguments[1]) < sizeof address.sun_path);
  strncpy(address.sun_path, arguments[1], sizeof address.sun_path - 1);
  server = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 4) == 0);
  CHECK(pthread_create(&client, NULL, connects, NULL) == 0);
  CHECK(pthread_create(&watcher, NULL, watches, NULL) == 0);
  first = 2;
  accepted = accept(server, NULL, NULL);
  CHECK(read(accepted, &byte, 1) == 1);
  second = 2;
  close(accepted);
  CHECK(pthread_join(client, NULL) == 0 && pthread_join(watcher, NULL) == 0);
  close(server);
  CHECK(unlink(arguments[1]) == 0);
  return 0;
}
