/* Five philosophers around a table with five forks.
 *
 * Wrong: everybody takes the left fork and then the right one. When all have
 * their left fork, nobody ever gets a right one. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { SEATS = 5 };

static pthread_mutex_t forks[SEATS];
static int meals[SEATS];

static void *dine(void *arg)
{
    int *meal = arg;
    int seat = (int)(meal - meals);
    int first = seat;
    int second = (seat + 1) % SEATS;

    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]); /* the neighbour may hold it as the first */
    *meal += 1;
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void)
{
    pthread_t philosophers[SEATS];
    int eaten = 0;

    for (int i = 0; i < SEATS; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (int i = 0; i < SEATS; i++)
        pthread_create(&philosophers[i], NULL, dine, &meals[i]);
    for (int i = 0; i < SEATS; i++) {
        pthread_join(philosophers[i], NULL);
        eaten += meals[i];
    }
    for (int i = 0; i < SEATS; i++)
        pthread_mutex_destroy(&forks[i]);

    assert(eaten == SEATS);
    printf("%d meals\n", eaten);
    return 0;
}
