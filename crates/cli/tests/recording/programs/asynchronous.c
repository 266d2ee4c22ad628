/* Threads that may be cancelled anywhere: they compute, add, spin, lock, or do nothing at all. The
   argument says which of them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);            \
            exit(99);                                                          \
        }                                                                      \
    } while (0)

static sem_t ready;
static int cleaned, shared, told;
static volatile int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void clean(void *unused)
{
    (void)unused;
    /* Whoever cancels has said why before. */
    CHECK(told);
    cleaned++;
}

static void let_go(void *how)
{
    int old;

    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0);
    CHECK(old == PTHREAD_CANCEL_DEFERRED);
    sem_post(&ready);
    switch (*(char *)how) {
    case 'c': /* computes */
        for (unsigned n = 1; n; n = n * 5 + 2)
            ;
        return;
    case 'a': /* adds to memory */
        for (;;)
            shared++;
    case 's': /* spins */
        while (!flag)
            ;
        return;
    case 'l': /* locks: only outside of the critical section may it end */
        for (;;) {
            CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
            pthread_mutex_lock(&mutex);
            shared++;
            pthread_mutex_unlock(&mutex);
            CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
        }
    default:
        for (;;)
            ;
    }
}

static void *work(void *how)
{
    pthread_cleanup_push(clean, NULL);
    let_go(how);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Ends itself at once. */
static void *suicide(void *unused)
{
    pthread_cleanup_push(clean, unused);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cancel(pthread_self());
    CHECK(0);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Is cancelled before it allows for it. */
static void *late(void *unused)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cancel(pthread_self());
    flag = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    CHECK(0);
    return unused;
}

static void join(pthread_t thread)
{
    void *result;

    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
}

int main(int count, char **arguments)
{
    pthread_t thread;

    CHECK(count == 2);
    sem_init(&ready, 0, 0);
    for (const char *how = arguments[1]; *how; how++) {
        int before = cleaned;
        CHECK(pthread_create(&thread, NULL, work, (void *)how) == 0);
        sem_wait(&ready);
        told = *how;
        CHECK(pthread_cancel(thread) == 0);
        join(thread);
        CHECK(cleaned == before + 1);
        CHECK(pthread_mutex_lock(&mutex) == 0);
        CHECK(pthread_mutex_unlock(&mutex) == 0);
    }
    CHECK(pthread_create(&thread, NULL, suicide, NULL) == 0);
    join(thread);
    CHECK(pthread_create(&thread, NULL, late, NULL) == 0);
    join(thread);
    CHECK(flag == 1);
    return 0;
}
