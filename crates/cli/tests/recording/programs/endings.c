/* The ways in which a process ends. The first argument says which. */

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *way;
static int shared, at_exit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *volatile nowhere;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void *ends(void *unused) {
  pthread_mutex_lock(&lock);
  shared = 1;
  pthread_mutex_unlock(&lock);
  if (is("exit"))
    exit(3);
  if (is("_exit"))
    _exit(4);
  if (is("quick_exit"))
    quick_exit(5);
  if (is("abort"))
    abort();
  if (is("assert"))
    assert(shared == 2);
  if (is("segfault"))
    *nowhere = 1;
  if (is("raise"))
    raise(SIGTERM);
  if (is("hang"))
    for (;;)
      ;
  return unused;
}

/* Still recorded: handlers come before the end. */
static void handler(void) {
  at_exit = shared;
  if (at_exit != 1)
    _exit(98);
}

static jmp_buf back;

static void jumps(int depth) {
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  if (depth == 0)
    longjmp(back, 7);
  jumps(depth - 1);
}

static void *outlives(void *unused) {
  pthread_mutex_lock(&lock);
  shared = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(int count, char **arguments) {
  pthread_t thread;
  way = count > 1 ? arguments[1] : "return";
  if (is("pthread_exit")) {
    atexit(handler);
    shared = 0;
    pthread_create(&thread, NULL, outlives, NULL);
    pthread_exit(NULL); /* The process goes on until its last thread ends. */
  }
  if (is("longjmp")) {
    int value = setjmp(back);
    if (value == 0)
      jumps(3);
    CHECK(value == 7 && shared == 4);
    return 0;
  }
  if (is("alone")) {
    for (int i = 0; i < 10; i++)
      shared += i;
    CHECK(shared == 45);
    return 6;
  }
  if (is("exit"))
    atexit(handler);
  shared = 0; /* So that it is shared. */
  pthread_create(&thread, NULL, ends, NULL);
  pthread_join(thread, NULL);
  return is("return") ? 9 : 97;
}
