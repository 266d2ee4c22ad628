/* Two sensors keep the highest value that was measured.
 *
 * Corrected: a sensor compares and stores in one critical section. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int highest;
static int values[2] = {3, 7};

static void *measure(void *value)
{
    int measured = *(int *)value;

    pthread_mutex_lock(&guard);
    if (measured > highest)
        highest = measured;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t sensors[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&sensors[i], NULL, measure, &values[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(sensors[i], NULL);

    assert(highest == 7);
    printf("highest %d\n", highest);
    return 0;
}
