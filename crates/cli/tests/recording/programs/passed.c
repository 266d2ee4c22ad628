/* Somebody outside sends what cannot be given again: bytes that go on to a pipe without coming to memory, or a descriptor. The first argument says which, the second is the socket of that somebody. Then
   threads race. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

static int total;

static void *adds(void *unused) {
  total++; /* Here is the race. */
  return unused;
}

static void splices(int other) {
  char text[8];
  int ends[2];
  CHECK(pipe(ends) == 0 && splice(other, NULL, ends[1], NULL, 1, 0) == 1);
  CHECK(read(ends[0], text, 1) == 1);
}

static void takes(int other) {
  char byte, room[CMSG_SPACE(sizeof(int))];
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  int fd;
  CHECK(recvmsg(other, &message, 0) == 1 && CMSG_FIRSTHDR(&message)->cmsg_type == SCM_RIGHTS);
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  CHECK(write(fd, "x", 1) == 1);
}

int main(int count, char **arguments) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  pthread_t threads[2];
  int other = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(count > 2 && strlen(arguments[2]) < sizeof address.sun_path);
  strcpy(address.sun_path, arguments[2]);
  CHECK(connect(other, (struct sockaddr *)&address, sizeof address) == 0);
  if (strcmp(arguments[1], "splice") == 0)
    splices(other);
  else
    takes(other);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, NULL) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
