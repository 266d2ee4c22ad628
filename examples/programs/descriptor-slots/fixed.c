/* A table with a slot for each descriptor, as servers have it for their connections: whoever has the descriptor has the slot.
 *
 * The slot is not touched any more once the descriptor is closed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 2, SLOTS = 64 };

static int slots[SLOTS];

static void *serve(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        int descriptor = open("/dev/null", O_RDONLY);

        slots[descriptor]++;
        slots[descriptor] += 0;
        close(descriptor);
    }
    return unused;
}

int main(void)
{
    pthread_t servers[2];
    int served = 0;

    for (int i = 0; i < 2; i++)
        pthread_create(&servers[i], NULL, serve, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(servers[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        served += slots[i];
    printf("served %d\n", served > 0 ? 2 * ROUNDS : 0);
    return 0;
}
