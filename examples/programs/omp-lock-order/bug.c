/* Two sections move money between two accounts, one each way.
 *
 * Wrong: each takes the lock of its own account first, so both can hold one
 * lock and wait for the other for ever. */
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
    omp_set_lock(&from->lock);
    omp_set_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    omp_unset_lock(&to->lock);
    omp_unset_lock(&from->lock);
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
