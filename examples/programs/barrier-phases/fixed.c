/* Two threads compute in two phases with a barrier between: each fills its own
 * cell, then each adds the cell of the other one to a sum.
 *
 * Corrected: a mutex guards the sum; the barrier orders the cells. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2 };

static pthread_barrier_t filled;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int cells[THREADS];
static int sum;

static void *compute(void *arg)
{
    int *cell = arg;
    int me = (int)(cell - cells);

    *cell = me + 1;
    pthread_barrier_wait(&filled);
    pthread_mutex_lock(&guard);
    sum += cells[(me + 1) % THREADS];
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&filled, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, compute, &cells[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&filled);

    assert(sum == 3);
    printf("sum %d\n", sum);
    return 0;
}
