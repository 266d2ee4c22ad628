/* Threads that compute on memory of their own and add up under a lock: most of the work is nobody else's business. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, SIZE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned total;
static int rounds;

static void *work(void *number)
{
    unsigned *table = malloc(SIZE * sizeof *table);
    unsigned seed = *(unsigned *)number;

    for (int i = 0; i < SIZE; i++)
        table[i] = seed + (unsigned)i;
    for (int round = 0; round < rounds; round++) {
        unsigned sum = 0;
        for (int i = 0; i < SIZE; i++) {
            table[i] = table[i] * 31 + (unsigned)round;
            sum ^= table[(i * 17) % SIZE];
        }
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    free(table);
    return NULL;
}

int main(int count, char **arguments)
{
    unsigned seeds[THREADS];
    pthread_t threads[THREADS];

    rounds = count > 1 ? atoi(arguments[1]) : 1000;
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = (unsigned)i;
        pthread_create(&threads[i], NULL, work, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%u\n", total);
    return 0;
}
