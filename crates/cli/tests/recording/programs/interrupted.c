/* A handler that does not restart what it interrupts ends a wait for a semaphore; one that does, does not. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);            \
            exit(99);                                                          \
        }                                                                      \
    } while (0)

static sem_t semaphore, begun;
static volatile sig_atomic_t came;
static int told, interrupted;

static void handle(int signal)
{
    (void)signal;
    came = 1;
}

static void *wait_timed(void *unused)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 100;
    sem_post(&begun);
    CHECK(sem_timedwait(&semaphore, &time) == -1);
    /* Where time is virtual, it may be over before the signal is there. */
    CHECK((errno == EINTR && came) || errno == ETIMEDOUT);
    return unused;
}

static void *wait_blocking(void *unused)
{
    sem_post(&begun);
    CHECK(sem_wait(&semaphore) == -1 && errno == EINTR);
    CHECK(came);
    /* The other thread wrote it before it sent the signal. */
    CHECK(told == 7);
    interrupted = 1;
    return unused;
}

static void *wait_restarted(void *unused)
{
    sem_post(&begun);
    CHECK(sem_wait(&semaphore) == 0);
    CHECK(came);
    return unused;
}

static void install(int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = flags;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void interrupt(void *(*start)(void *), int flags)
{
    pthread_t thread;
    struct timespec moment = {0, 20000000};

    install(flags);
    came = 0;
    CHECK(pthread_create(&thread, NULL, start, NULL) == 0);
    CHECK(sem_wait(&begun) == 0);
    nanosleep(&moment, NULL);
    told = 7;
    CHECK(pthread_kill(thread, SIGUSR1) == 0);
    if (flags & SA_RESTART) {
        while (!came)
            nanosleep(&moment, NULL);
        sem_post(&semaphore);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    sem_init(&begun, 0, 0);
    interrupt(wait_blocking, 0);
    CHECK(interrupted);
    interrupt(wait_timed, 0);
    interrupt(wait_restarted, SA_RESTART);
    return 0;
}
