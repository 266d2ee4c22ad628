/* Two workers report to an eventfd that they are done; the main thread adds up.
 *
 * Wrong: both add to one total, and only their reports are ordered, not their work. */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int done;
static int total;
static void *work(void *unused)
{
    total++; /* so may the other worker */
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
