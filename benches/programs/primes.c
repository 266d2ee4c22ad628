/* Threads that take numbers from a common counter under a lock, test each by division, and count: compute, lock, compute. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next_number = 3, found, limit;

static int is_prime(unsigned number)
{
    for (unsigned divisor = 3; divisor * divisor <= number; divisor += 2)
        if (number % divisor == 0)
            return 0;
    return 1;
}

static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        unsigned number = next_number;
        next_number += 2;
        pthread_mutex_unlock(&lock);
        if (number >= limit)
            return unused;
        if (is_prime(number)) {
            pthread_mutex_lock(&lock);
            found++;
            pthread_mutex_unlock(&lock);
        }
    }
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];

    limit = count > 1 ? (unsigned)atoi(arguments[1]) : 100000;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%u\n", found);
    return 0;
}
