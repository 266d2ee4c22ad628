/* Threads that each take a lock and add to a counter: as many schedules as orders of them. */
#include <assert.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 2
#endif

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *add(void *unused) {
    (void)unused;
    pthread_mutex_lock(&guard);
    counter = counter + 1;
    pthread_mutex_unlock(&guard);
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], 0, add, 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], 0);
    assert(counter == THREADS);
    return 0;
}
