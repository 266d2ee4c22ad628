/* A publisher fills a message and raises a flag; a reader spins on the flag.
 *
 * Corrected: the flag is atomic; the store releases the message, and the load
 * acquires it. (Relaxed accesses would end the race on the flag only.) */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static int message;
static atomic_int ready;

static void *publish(void *unused)
{
    message = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *receive(void *copy)
{
    while (!atomic_load_explicit(&ready, memory_order_acquire))
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
