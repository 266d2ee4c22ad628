/* A thread waits for somebody outside until the process ends. Behind the beginning of that wait, two others race. The first argument is the port of somebody
   who takes what he gets, and never answers. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"

static int total, begun, other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *asks(void *unused) {
  char text[16];
  CHECK(send(other, "first", 5, 0) == 5);
  pthread_mutex_lock(&lock);
  begun = 1;
  pthread_mutex_unlock(&lock);
  CHECK(recv(other, text, sizeof text, 0) < 0);
  return unused;
}

static void *adds(void *unused) {
  total++; /* Here is the race. */
  return unused;
}

int main(int count, char **arguments) {
  struct sockaddr_in address;
  pthread_t waiting, adding;
  int seen = 0;
  CHECK(count > 1);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((in_port_t)atoi(arguments[1]));
  other = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(connect(other, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(pthread_create(&waiting, NULL, asks, NULL) == 0);
  while (!seen) {
    pthread_mutex_lock(&lock);
    seen = begun;
    pthread_mutex_unlock(&lock);
  }
  usleep(10000);
  CHECK(recv(other, arguments[1], 1, MSG_DONTWAIT) < 0);
  CHECK(pthread_create(&adding, NULL, adds, NULL) == 0);
  total++;
  pthread_join(adding, NULL);
  return 0;
}
