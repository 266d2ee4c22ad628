/* Main waits until a worker has prepared a value.
 *
 * Corrected: the gate is a semaphore, which belongs to no thread. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t gate;
static int value;

static void *prepare(void *unused)
{
    value = 9;
    sem_post(&gate);
    return unused;
}

int main(void)
{
    pthread_t worker;

    sem_init(&gate, 0, 0);
    pthread_create(&worker, NULL, prepare, NULL);
    sem_wait(&gate);
    int seen = value;
    pthread_join(worker, NULL);
    sem_destroy(&gate);

    assert(seen == 9);
    printf("value %d\n", seen);
    return 0;
}
