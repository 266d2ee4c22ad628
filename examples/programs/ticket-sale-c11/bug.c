/* Two counters sell seats, with the threads of C11.
 *
 * Wrong: a counter looks for a free seat before it takes the lock. The look races
 * with the sale of the other one, and is out of date when the seat is sold. */
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
        if (free_seats > 0) { /* without the lock */
            mtx_lock(&guard);
            free_seats--; /* while the other counter looks */
            sold++;
            mtx_unlock(&guard);
        }
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
