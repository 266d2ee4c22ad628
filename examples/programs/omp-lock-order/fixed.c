/* Two sections move money between two accounts, one each way.
 *
 * Corrected: both take the lock of the account with the lower address first. */
#include <assert.h>
#include <omp.h>
#include <stdio.h>

struct account {
    omp_lock_t lock;
    int balance;
};

static struct account ann, bob;

static void transfer(struct account *from, struct account *to, int amount)
{
    struct account *first = from < to ? from : to;
    struct account *second = from < to ? to : from;

    omp_set_lock(&first->lock);
    omp_set_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    omp_unset_lock(&second->lock);
    omp_unset_lock(&first->lock);
}

int main(void)
{
    omp_init_lock(&ann.lock);
    omp_init_lock(&bob.lock);
    ann.balance = bob.balance = 100;

#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        transfer(&ann, &bob, 30);
#pragma omp section
        transfer(&bob, &ann, 10);
    }

    assert(ann.balance == 80 && bob.balance == 120);
    printf("ann %d, bob %d\n", ann.balance, bob.balance);
    omp_destroy_lock(&ann.lock);
    omp_destroy_lock(&bob.lock);
    return 0;
}
