/* Main waits until a worker has prepared a value.
 *
 * Wrong: a mutex serves as the gate. Main locks it, the worker unlocks it, and
 * main locks it again to wait. A mutex may be unlocked only by the thread that
 * holds it, and a thread that locks a mutex which it holds blocks itself. It
 * works by accident, with plain mutexes only. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *prepare(void *unused)
{
    value = 9;
    pthread_mutex_unlock(&gate); /* main has locked it */
    return unused;
}

int main(void)
{
    pthread_t worker;

    pthread_mutex_lock(&gate);
    pthread_create(&worker, NULL, prepare, NULL);
    pthread_mutex_lock(&gate); /* main may hold it still */
    int seen = value;
    pthread_join(worker, NULL);
    pthread_mutex_unlock(&gate);

    assert(seen == 9);
    printf("value %d\n", seen);
    return 0;
}
