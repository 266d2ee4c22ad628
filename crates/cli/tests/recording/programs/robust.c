/* Robust mutexes: what POSIX says of them, and a thread that ends with one. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);            \
            exit(99);                                                          \
        }                                                                      \
    } while (0)

static pthread_mutex_t first, second;
static pthread_cond_t wakes = PTHREAD_COND_INITIALIZER;
static sem_t waiting;
static int guarded, notes;

static void make(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    CHECK(pthread_mutex_init(mutex, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
}

/* Ends with both. */
static void *dies(void *unused)
{
    CHECK(pthread_mutex_lock(&first) == 0);
    CHECK(pthread_mutex_lock(&second) == 0);
    guarded = 1;
    return unused;
}

static void *is_refused(void *unused)
{
    CHECK(pthread_mutex_unlock(&first) == EPERM);
    CHECK(pthread_mutex_trylock(&first) == EBUSY);
    return unused;
}

static void run(void *(*start)(void *))
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, start, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* All that can happen to one, one after the other. */
static void rules(int type)
{
    make(&first, type);
    make(&second, type);
    CHECK(pthread_mutex_consistent(&first) == EINVAL);
    run(dies);
    CHECK(pthread_mutex_trylock(&first) == EOWNERDEAD);
    run(is_refused);
    CHECK(pthread_mutex_consistent(&first) == 0);
    CHECK(pthread_mutex_unlock(&first) == 0);
    CHECK(pthread_mutex_lock(&first) == 0);
    CHECK(pthread_mutex_unlock(&first) == 0);
    /* Not made consistent: lost. */
    CHECK(pthread_mutex_lock(&second) == EOWNERDEAD);
    CHECK(pthread_mutex_unlock(&second) == 0);
    CHECK(pthread_mutex_lock(&second) == ENOTRECOVERABLE);
    CHECK(pthread_mutex_trylock(&second) == ENOTRECOVERABLE);
    CHECK(pthread_mutex_destroy(&first) == 0);
    CHECK(pthread_mutex_destroy(&second) == 0);
    make(&second, type);
    CHECK(pthread_mutex_lock(&second) == 0);
    CHECK(pthread_mutex_unlock(&second) == 0);
}

static void *waits(void *unused)
{
    CHECK(pthread_mutex_lock(&first) == 0);
    sem_post(&waiting);
    int status = 0;
    while (!guarded && status == 0)
        status = pthread_cond_wait(&wakes, &first);
    CHECK(status == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&first) == 0);
    CHECK(pthread_mutex_unlock(&first) == 0);
    return unused;
}

static void *signals_and_dies(void *unused)
{
    sem_wait(&waiting);
    CHECK(pthread_mutex_lock(&first) == 0);
    guarded = 1;
    pthread_cond_signal(&wakes);
    return unused;
}

static void *either_way(void *result)
{
    int status = pthread_mutex_lock(&first);

    CHECK(status == 0 || status == EOWNERDEAD);
    *(int *)result = status;
    if (status == EOWNERDEAD)
        CHECK(pthread_mutex_consistent(&first) == 0);
    guarded++;
    CHECK(pthread_mutex_unlock(&first) == 0);
    /* Nobody writes them any more. */
    if (status == EOWNERDEAD)
        CHECK(notes == 7);
    return NULL;
}

static void *holds(void *unused)
{
    int status = pthread_mutex_lock(&first);

    CHECK(status == 0);
    notes = 7;
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[3];

    if (count > 1 && strcmp(arguments[1], "race") == 0) {
        /* One takes it and ends; the other two may come before or after. */
        int results[2];

        make(&first, PTHREAD_MUTEX_NORMAL);
        pthread_create(&threads[0], NULL, either_way, &results[0]);
        pthread_create(&threads[1], NULL, holds, NULL);
        pthread_create(&threads[2], NULL, either_way, &results[1]);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        /* Only one is told. */
        CHECK(results[0] == 0 || results[1] == 0);
        CHECK(guarded == 2);
        return 0;
    }
    rules(PTHREAD_MUTEX_NORMAL);
    rules(PTHREAD_MUTEX_RECURSIVE);
    rules(PTHREAD_MUTEX_ERRORCHECK);
    guarded = 0;
    sem_init(&waiting, 0, 0);
    make(&first, PTHREAD_MUTEX_NORMAL);
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, signals_and_dies, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
