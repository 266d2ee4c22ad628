/* A publisher fills a message and raises a flag; a reader spins on the flag.
 *
 * Wrong: the flag is a plain variable. `volatile` keeps the compiler from reading
 * it only once, but it orders nothing between threads: the accesses to the flag
 * are a data race, and the message may be seen later than the flag. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static int message;
static volatile int ready;

static void *publish(void *unused)
{
    message = 42;
    ready = 1; /* a plain store that others wait for */
    return unused;
}

static void *receive(void *copy)
{
    while (!ready) /* a plain load of what another thread stores */
        sched_yield();
    *(int *)copy = message;
    return NULL;
}

int main(void)
{
    pthread_t publisher, receiver;
    int copy = 0;

    pthread_create(&publisher, NULL, publish, NULL);
    pthread_create(&receiver, NULL, receive, &copy);
    pthread_join(publisher, NULL);
    pthread_join(receiver, NULL);

    assert(copy == 42);
    printf("message %d\n", copy);
    return 0;
}
