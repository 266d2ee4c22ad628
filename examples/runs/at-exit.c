// What runs when the process ends: functions that main has asked for, the last one first. With WRONG
// a thread that nobody joins may not have come to its end.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void last(void) {
    pthread_mutex_lock(&lock);
    assert(done == 2);
    pthread_mutex_unlock(&lock);
}

static void first(void) {
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    (void)unused;
    first();
    return NULL;
}

int main(void) {
    pthread_t thread;
    atexit(last);
    atexit(first);
    pthread_create(&thread, NULL, work, NULL);
#ifndef WRONG
    pthread_join(thread, NULL);
#endif
    exit(0);
}
