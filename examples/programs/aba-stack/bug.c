/* A lock-free stack of three nodes. One thread pops two nodes, keeps the second
 * and pushes the first one back. The other pops one node.
 *
 * Wrong: a pop takes an unchanged top for an unchanged stack. If the first
 * thread does all its work between the load of `below` and the exchange, the top
 * is A again but what lies below it is not B any more: B, which the first
 * thread keeps, comes back on the stack. There is no data race. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { A, B, C, NONE };

static atomic_int top = A;
static atomic_int below[NONE] = {B, C, NONE};
static int kept, taken;

static int pop(void)
{
    int node = atomic_load(&top);
    int next;

    do
        next = atomic_load(&below[node]);
    while (!atomic_compare_exchange_strong(&top, &node, next)); /* succeeds on A, B, A as well */
    return node;
}

static void push(int node)
{
    int old = atomic_load(&top);

    do
        atomic_store(&below[node], old);
    while (!atomic_compare_exchange_strong(&top, &old, node));
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

    int last = atomic_load(&top);
    assert(last != kept && last != taken && kept != taken);
    printf("every node has one owner\n");
    return 0;
}
