/* A value that depends on what was read: begin() gives it, CHECK is about something that holds whatever it is. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <foretrace.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
static void *other(void *a) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); return a; }
static pthread_t th;
static int begin(void) { pthread_create(&th, 0, other, 0); pthread_mutex_lock(&m); int r = x; pthread_mutex_unlock(&m); return r; }
static void finish(void) { pthread_join(th, 0); }
#define CHECK(c) FORETRACE_ASSERT(c)
