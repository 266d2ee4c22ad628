/* Each thread notes when it came by. Clocks never go back, so that under the lock times only grow.
 *
 * The time is read under the lock. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long latest;

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *come_by(void *unused)
{
    long time;

    pthread_mutex_lock(&lock);
    time = now();
    assert(time >= latest);
    latest = time;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, come_by, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("came by\n");
    return 0;
}
