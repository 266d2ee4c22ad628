/* A producer hands two items over, each in a slot of its own; a semaphore counts
 * the slots that are full.
 *
 * Corrected: the producer fills the slot and then says "full". */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ITEMS = 2 };

static sem_t full;
static int slots[ITEMS];
static int received;

static void *produce(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        slots[i] = 10 * (i + 1);
        sem_post(&full);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        sem_wait(&full);
        received += slots[i];
    }
    return unused;
}

int main(void)
{
    pthread_t producer, consumer;

    sem_init(&full, 0, 0);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    sem_destroy(&full);

    assert(received == 30);
    printf("received %d\n", received);
    return 0;
}
