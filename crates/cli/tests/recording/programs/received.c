/* Descriptors come in messages, and their numbers are used again: what a thread keeps for a number is its own until it closes that. With `late`, it touches it behind that. The argument says how messages
   are received. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static int ends[2], several, late, slots[64];

struct letter {
  char byte, room[CMSG_SPACE(sizeof(int))];
  struct iovec data;
  struct mmsghdr message;
};

static struct msghdr *prepare(struct letter *letter) {
  memset(letter, 0, sizeof *letter);
  letter->data = (struct iovec){&letter->byte, 1};
  letter->message.msg_hdr = (struct msghdr){.msg_iov = &letter->data, .msg_iovlen = 1, .msg_control = letter->room, .msg_controllen = sizeof letter->room};
  return &letter->message.msg_hdr;
}

static void give(int fd) {
  struct letter letter;
  struct msghdr *message = prepare(&letter);
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  CHECK(sendmsg(ends[0], message, 0) == 1);
}

static int take(void) {
  struct letter letter;
  struct msghdr *message = prepare(&letter);
  int fd;
  if (several)
    CHECK(recvmmsg(ends[1], &letter.message, 1, 0, NULL) == 1);
  else
    CHECK(recvmsg(ends[1], message, 0) == 1);
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof fd);
  return fd;
}

static void *works(void *unused) {
  for (int i = 0; i < 2; i++) {
    int fd = take();
    slots[fd]++;
    slots[fd] = 0;
    close(fd);
    if (late)
      slots[fd] = 1;
  }
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  CHECK(count == 2);
  several = strcmp(arguments[1], "several") == 0;
  late = strcmp(arguments[1], "late") == 0;
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  int fd = open("/dev/null", O_RDONLY);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, works, NULL) == 0);
  for (int i = 0; i < 4; i++)
    give(fd);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
