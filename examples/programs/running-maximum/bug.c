/* Two sensors keep the highest value that was measured.
 *
 * Wrong: a sensor compares in one critical section and stores in another. A
 * higher value that comes in between is overwritten. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int highest;
static int values[2] = {3, 7};

static int is_higher(int value)
{
    pthread_mutex_lock(&guard);
    int higher = value > highest; /* true now, and perhaps not for long */
    pthread_mutex_unlock(&guard);
    return higher;
}

static void *measure(void *value)
{
    int measured = *(int *)value;

    if (is_higher(measured)) {
        pthread_mutex_lock(&guard);
        highest = measured;
        pthread_mutex_unlock(&guard);
    }
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
