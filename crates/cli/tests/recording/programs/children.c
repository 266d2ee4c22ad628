/* What threads do depends on what other programs answer: the first argument says how they are started. In a replay they would answer something else. The second argument is a file that each of
   them adds a line to. Then threads race. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, guarded, total;
static const char *file;
static char script[512];
static volatile sig_atomic_t ends, ended;

/* A command that says in `file` that it was there, and answers its own number, which is another one each time. */
static char *answering(const char *first) {
  snprintf(script, sizeof script, "%s echo started >> %s; echo $$", first, file);
  return script;
}

static void told(int signal, siginfo_t *info, void *unused) {
  (void)signal;
  (void)unused;
  ended = info->si_pid;
  ends++;
}

static unsigned number_in(int fd) {
  char text[64] = "";
  size_t size = 0;
  ssize_t now;
  while ((now = read(fd, text + size, sizeof text - 1 - size)) > 0)
    size += (size_t)now;
  CHECK(now == 0 && close(fd) == 0 && size > 0);
  return (unsigned)atoi(text);
}

static void run(int in, int out, int other) {
  dup2(in, 0);
  dup2(out, 1);
  close(other);
  execl("/bin/sh", "sh", "-c", script, (char *)NULL);
  _exit(98);
}

static unsigned waited(pid_t child, unsigned number) {
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(waitpid(child, &status, WNOHANG) == -1 && errno == ECHILD);
  CHECK(number == 0 || (pid_t)number == child);
  return (unsigned)child;
}

/* By a pipe from the child. */
static unsigned forked(int by_vfork) {
  int ends[2];
  pid_t child;
  CHECK(pipe(ends) == 0);
  answering("");
  child = by_vfork ? vfork() : fork();
  if (child == 0)
    run(0, ends[1], ends[0]);
  CHECK(close(ends[1]) == 0);
  return waited(child, number_in(ends[0]));
}



/* By two pipes: what is sent is only compared. */
static unsigned asked(void) {
  int there[2], back[2];
  pid_t child;
  char long_text[300];
  memset(long_text, 'x', sizeof long_text);
  long_text[sizeof long_text - 1] = '\n';
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  answering("read line;");
  child = fork();
  if (child == 0) {
    close(there[1]);
    run(there[0], back[1], back[0]);
  }
  CHECK(close(there[0]) == 0 && close(back[1]) == 0);
  CHECK(write(there[1], long_text, sizeof long_text) == sizeof long_text && close(there[1]) == 0);
  return waited(child, number_in(back[0]));
}

/* By a pair of sockets, waiting for it with epoll and poll. */
static unsigned paired(void) {
  int ends[2], all = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  struct pollfd wait;
  char text[32] = "";
  pid_t child;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(epoll_ctl(all, EPOLL_CTL_ADD, ends[0], &event) == 0);
  answering("read line;");
  child = fork();
  if (child == 0)
    run(ends[1], ends[1], ends[0]);
  CHECK(close(ends[1]) == 0 && send(ends[0], "go\n", 3, 0) == 3);
  CHECK(epoll_wait(all, &event, 1, -1) == 1);
  wait = (struct pollfd){.fd = ends[0], .events = POLLIN};
  CHECK(poll(&wait, 1, -1) == 1 && wait.revents & POLLIN);
  CHECK(recv(ends[0], text, sizeof text - 1, 0) > 0 && close(ends[0]) == 0);
  return waited(child, (unsigned)atoi(text));
}

static unsigned streamed(void) {
  FILE *stream;
  char line[64];
  stream = popen(answering(""), "r");
  CHECK(stream && fileno(stream) > 2 && fgets(line, sizeof line, stream));
  CHECK(fgets(line + 32, 32, stream) == NULL && feof(stream) && pclose(stream) == 0);
  snprintf(script, sizeof script, "read line; echo started >> %s; exit 7", file);
  stream = popen(script, "we");
  CHECK(stream && fputs("go\n", stream) >= 0);
  CHECK(WEXITSTATUS(pclose(stream)) == 7);
  return (unsigned)atoi(line);
}

/* A stream that the program makes of a pipe. */
static unsigned opened(void) {
  int ends[2];
  unsigned number;
  pid_t child;
  FILE *stream;
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  answering("");
  child = fork();
  if (child == 0)
    run(0, ends[1], ends[0]);
  close(ends[1]);
  stream = fdopen(ends[0], "r");
  CHECK(stream && fscanf(stream, "%u", &number) == 1 && fclose(stream) == 0);
  return waited(child, number);
}

static unsigned spawned(void) {
  char *arguments[] = {"sh", "-c", answering(""), NULL};
  posix_spawn_file_actions_t actions;
  int ends[2];
  pid_t child;
  CHECK(pipe(ends) == 0 && posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0);
  CHECK(posix_spawnp(&child, "sh", &actions, NULL, arguments, environ) == 0 && close(ends[1]) == 0);
  CHECK(posix_spawn(&child, "/nowhere", NULL, NULL, arguments, environ) == ENOENT);
  CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
  return waited(child, number_in(ends[0]));
}

/* The status says it. */
static unsigned told_by_status(void) {
  int status;
  snprintf(script, sizeof script, "echo started >> %s; exit $(($$ %% 97 + 1))", file);
  status = system(script);
  CHECK(WIFEXITED(status));
  return (unsigned)WEXITSTATUS(status);
}

/* A signal tells the end, and the child is one of several. */
static unsigned signalled(void) {
  struct sigaction action;
  siginfo_t info;
  pid_t child, other;
  int status;
  memset(&action, 0, sizeof action);
  memset(&info, 0, sizeof info);
  action.sa_sigaction = told;
  action.sa_flags = SA_SIGINFO | SA_NOCLDSTOP;
  CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
  other = fork();
  if (other == 0) {
    execlp("sh", "sh", "-c", "kill -STOP $$", (char *)NULL);
    _exit(98);
  }
  /* Killed before it is another program, it would be a copy. */
  CHECK(waitpid(other, &status, WUNTRACED) == other && WIFSTOPPED(status));
  CHECK(setpgid(other, other) == -1 && errno == EACCES);
  snprintf(script, sizeof script, "echo started >> %s; exit 5", file);
  child = fork();
  if (child == 0)
    run(0, 1, -1);
  while (ends == 0)
    usleep(1000);
  CHECK(ended == child && waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0);
  CHECK(info.si_pid == child && info.si_status == 5);
  CHECK(kill(other, SIGKILL) == 0 && wait(NULL) == other);
  return (unsigned)child;
}

/* The process also writes to the pipe: a replay needs the child. */
static unsigned mixed(void) {
  int ends[2], status;
  char text[64] = "";
  size_t size = 0;
  ssize_t now;
  pid_t child;
  CHECK(pipe(ends) == 0);
  snprintf(script, sizeof script, "echo started >> %s; echo 12", file);
  child = fork();
  if (child == 0)
    run(0, ends[1], ends[0]);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(write(ends[1], "34", 2) == 2);
  while (size < 5 && (now = read(ends[0], text + size, 5 - size)) > 0)
    size += (size_t)now;
  CHECK(strcmp(text, "12\n34") == 0);
  return 12;
}

static unsigned number(const char *way) {
  if (strcmp(way, "fork") == 0)
    return forked(0);
  if (strcmp(way, "vfork") == 0)
    return forked(1);
  if (strcmp(way, "ask") == 0)
    return asked();
  if (strcmp(way, "pair") == 0)
    return paired();
  if (strcmp(way, "popen") == 0)
    return streamed();
  if (strcmp(way, "fdopen") == 0)
    return opened();
  if (strcmp(way, "spawn") == 0)
    return spawned();
  if (strcmp(way, "system") == 0)
    return told_by_status();
  if (strcmp(way, "signal") == 0)
    return signalled();
  CHECK(strcmp(way, "mixed") == 0);
  return mixed();
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
  unsigned drawn;
  CHECK(count > 2);
  file = arguments[2];
  drawn = number(arguments[1]);
  rounds = (int)(drawn % 89);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, adds, NULL) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("drawn %u\n", drawn);
  return 0;
}
