/* Threads that work on their parts of a common array, and swap parts behind a barrier: every access is recorded, and most are kept. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, SIZE = 2048 };

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned parts[THREADS][SIZE], total;
static int rounds;

static void *work(void *number)
{
    int me = *(int *)number;

    for (int round = 0; round < rounds; round++) {
        unsigned *part = parts[(me + round) % THREADS];
        unsigned sum = 0;
        for (int i = 0; i < SIZE; i++) {
            part[i] = part[i] * 31 + (unsigned)round;
            sum ^= part[(i * 17) % SIZE];
        }
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int numbers[THREADS];
    pthread_t threads[THREADS];

    rounds = count > 1 ? atoi(arguments[1]) : 500;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    printf("%u\n", total);
    return 0;
}
