/* Threads that add what they were created with: by POSIX and by C11, a number and what a pointer leads to. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

static unsigned number, pointed, other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const unsigned three = 3;

static void *add(void *argument)
{
    pthread_mutex_lock(&lock);
    number += (unsigned)(uintptr_t)argument * 7;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *add_pointed(void *argument)
{
    pthread_mutex_lock(&lock);
    pointed += *(const unsigned *)argument;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int add_other(void *argument)
{
    pthread_mutex_lock(&lock);
    other += (unsigned)(uintptr_t)argument + 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    thrd_t third;
    pthread_create(&threads[0], NULL, add, (void *)(uintptr_t)2);
    pthread_create(&threads[1], NULL, add_pointed, (void *)(uintptr_t)&three);
    thrd_create(&third, add_other, (void *)(uintptr_t)8);
    pthread_mutex_lock(&lock);
    number++;
    pointed++;
    other++;
    pthread_mutex_unlock(&lock);
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    thrd_join(third, NULL);
    return number == 15 && pointed == 4 && other == 10 ? 0 : 99;
}
