/* Two counters sell seats, with the threads of C11.
 *
 * Corrected: a counter takes the lock and then looks. */
#include <assert.h>
#include <stdio.h>
#include <threads.h>

enum { COUNTERS = 2, BUYERS_EACH = 2 };

static mtx_t guard;
static int free_seats = 10;
static int sold;

static int sell(void *unused)
{
    (void)unused;
    for (int i = 0; i < BUYERS_EACH; i++) {
        mtx_lock(&guard);
        if (free_seats > 0) {
            free_seats--;
            sold++;
        }
        mtx_unlock(&guard);
    }
    return 0;
}

int main(void)
{
    thrd_t counters[COUNTERS];

    mtx_init(&guard, mtx_plain);
    for (int i = 0; i < COUNTERS; i++)
        thrd_create(&counters[i], sell, NULL);
    for (int i = 0; i < COUNTERS; i++)
        thrd_join(counters[i], NULL);
    mtx_destroy(&guard);

    assert(sold == 4 && free_seats == 6);
    printf("%d seats sold\n", sold);
    return 0;
}
