/* A thread waits for a signal, and then reads what the main thread has prepared for it.
 *
 * Wrong: it goes on preparing after it has sent the signal. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static int prepared;

static void *await(void *unused)
{
    sigset_t set;
    int signal;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal);
    printf("prepared %d\n", prepared > 0 ? 1 : 0);
    return unused;
}

int main(void)
{
    pthread_t waiter;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&waiter, NULL, await, NULL);
    prepared = 1;
    pthread_kill(waiter, SIGUSR1);
    prepared = 2; /* the other thread may already be reading */
    pthread_join(waiter, NULL);
    return 0;
}
