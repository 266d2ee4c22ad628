/* A lock-free stack of three nodes. One thread pops two nodes, keeps the second
 * and pushes the first one back. The other pops one node.
 *
 * Corrected: the top carries a tag that every exchange counts up, so that a top
 * which has changed and come back does not look unchanged. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { A, B, C, NONE, TAG = 16 };

static atomic_int top = A; /* node + TAG * number of changes */
static atomic_int below[NONE] = {B, C, NONE};
static int kept, taken;

static int pop(void)
{
    int old = atomic_load(&top);
    int next;

    do
        next = atomic_load(&below[old % TAG]);
    while (!atomic_compare_exchange_strong(&top, &old, old - old % TAG + TAG + next));
    return old % TAG;
}

static void push(int node)
{
    int old = atomic_load(&top);

    do
        atomic_store(&below[node], old % TAG);
    while (!atomic_compare_exchange_strong(&top, &old, old - old % TAG + TAG + node));
}

static void *recycle(void *unused)
{
    int first = pop();

    kept = pop();
    push(first);
    return unused;
}

static void *take(void *unused)
{
    taken = pop();
    return unused;
}

int main(void)
{
    pthread_t recycler, taker;

    pthread_create(&recycler, NULL, recycle, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(recycler, NULL);
    pthread_join(taker, NULL);

    int last = atomic_load(&top) % TAG;
    assert(last != kept && last != taken && kept != taken);
    printf("every node has one owner\n");
    return 0;
}
