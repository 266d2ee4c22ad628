/* What threads do depends on something from outside of the process: the first argument says what. Then they race. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, guarded, total;

static volatile sig_atomic_t ends;

static void ended(int signal) {
  (void)signal;
  ends++;
}

static unsigned number(const char *way) {
  unsigned number = 0;
  if (strcmp(way, "input") == 0) {
    char text[16] = "";
    ssize_t size = 0, now;
    while (size < 15 && (now = read(0, text + size, 15 - size)) > 0)
      size += now;
    number = (unsigned)atoi(text);
  } else if (strcmp(way, "stream") == 0) {
    int more;
    CHECK(fileno(stdin) == 0);
    CHECK(scanf("%u", &number) == 1);
    while ((more = getchar()) != EOF)
      number += (unsigned)more;
    CHECK(feof(stdin));
  } else if (strcmp(way, "child") == 0) { /* Its end is told once, though replays have a child as well. */
    struct sigaction action;
    int status = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = ended;
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t child = fork();
    if (child == 0)
      _exit(3);
    while (waitpid(child, &status, 0) != child)
      ;
    while (ends == 0)
      ;
    usleep(1000);
    CHECK(WEXITSTATUS(status) == 3 && ends == 1);
    number = 5;
  } else if (strncmp(way, "kill", 4) == 0) {
    CHECK(kill(atoi(way + 4), SIGUSR1) == 0);
    number = 7;
  } else if (strcmp(way, "clock") == 0) {
    struct timespec time;
    CHECK(clock_gettime(CLOCK_REALTIME, &time) == 0);
    number = (unsigned)(time.tv_nsec / 1000);
  } else if (strcmp(way, "measured") == 0) {
    struct rusage usage;
    double load[3];
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && getloadavg(load, 3) == 3);
    number = (unsigned)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec + usage.ru_minflt);
  } else if (strcmp(way, "host") == 0) { /* Whoever knows says another address each time. */
    struct addrinfo hints, *list;
    char name[64];
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_CANONNAME;
    CHECK(getaddrinfo("somebody", "80", &hints, &list) == 0);
    number = ntohl(((struct sockaddr_in *)(void *)list->ai_addr)->sin_addr.s_addr) & 0xffff;
    CHECK(strlen(list->ai_canonname) > 0 && gethostname(name, sizeof name) == 0);
    CHECK(getnameinfo(list->ai_addr, list->ai_addrlen, name, sizeof name, NULL, 0, NI_NUMERICHOST) == 0);
    freeaddrinfo(list);
  } else if (strcmp(way, "random") == 0) {
    CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
  } else if (strcmp(way, "device") == 0) { /* By the C library. */
    FILE *device = fopen("/dev/urandom", "r");
    CHECK(device && fileno(device) > 2 && ftell(device) != 1);
    CHECK(fread(&number, sizeof number, 1, device) == 1);
    CHECK(fclose(device) == 0);
  } else if (strcmp(way, "kernel") == 0 || strcmp(way, "kernel's stream") == 0) {
    char text[512] = "";
    size_t size = 0;
    if (strcmp(way, "kernel") == 0) {
      int fd = open("/proc/self/stat", O_RDONLY);
      ssize_t now = read(fd, text, sizeof text - 1);
      CHECK(now > 0 && close(fd) == 0);
      size = (size_t)now;
    } else {
      FILE *stat = fopen("/proc/self/stat", "r");
      CHECK(stat && fgets(text, 2, stat));
      rewind(stat);
      size = fread(text, 1, sizeof text - 1, stat);
      CHECK(size > 1 && fclose(stat) == 0);
    }
    for (size_t i = 0; i < size; i++) /* The number of the process is in it, and when it was started. */
      number = number * 31 + (unsigned char)text[i];
  } else if (strcmp(way, "title") == 0) {
    int fd = open("/proc/self/comm", O_RDWR);
    char text[16] = "";
    CHECK(write(fd, "worker", 6) == 6 && lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, text, sizeof text) == 7 && strcmp(text, "worker\n") == 0);
    CHECK(close(fd) == 0);
    number = 11;
  } else {
    int fd = open("/dev/urandom", O_RDONLY);
    CHECK(read(fd, &number, sizeof number) == sizeof number && close(fd) == 0);
  }
  return number;
}

static void *adds(void *unused) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
  }
  total++; /* Here is the race. */
  return unused;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  unsigned drawn = number(count > 1 ? arguments[1] : "");
  rounds = (int)(drawn % 89);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, NULL) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("drawn %u\n", drawn);
  return 0;
}
