/* A reader-writer lock made of a semaphore with two permits: a reader needs one,
 * a writer both. Two threads read first and then upgrade to write.
 *
 * Wrong: both may be readers when they ask for the second permit. Neither gets
 * it, and neither gives its own back. (With pthread_rwlock_t already one thread
 * that upgrades blocks itself.) */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t permits;
static int step = 5;
static int value;

static void *read_and_update(void *unused)
{
    sem_wait(&permits);
    int my_step = step;
    sem_wait(&permits); /* the upgrade: the other thread may have this permit */
    value += my_step;
    sem_post(&permits);
    sem_post(&permits);
    return unused;
}

int main(void)
{
    pthread_t updaters[2];

    sem_init(&permits, 0, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&updaters[i], NULL, read_and_update, NULL);

    sem_wait(&permits); /* main only reads */
    int seen = value;
    sem_post(&permits);

    for (int i = 0; i < 2; i++)
        pthread_join(updaters[i], NULL);
    sem_destroy(&permits);

    assert(seen == 0 || seen == 5 || seen == 10);
    assert(value == 10);
    printf("value %d\n", value);
    return 0;
}
