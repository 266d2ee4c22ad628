/* Said et al., Generating Data Race Witnesses by an SMT-based Analysis, Fig. 1: `get` is
 * synchronised. The numbers are lines of the figure.
 *
 * No race, but t2 takes a and then b, and t3 takes b and then a: a deadlock. */
#include <pthread.h>

struct object {
    pthread_mutex_t lock;
    int x;
};

static struct object a = {PTHREAD_MUTEX_INITIALIZER, 1}, b = {PTHREAD_MUTEX_INITIALIZER, 1};

static int get(struct object *from)
{
    pthread_mutex_lock(&from->lock); /* 5 */
    int x = from->x;                 /* 6 */
    pthread_mutex_unlock(&from->lock);
    return x;
}

static void add(struct object *to, struct object *from)
{
    pthread_mutex_lock(&to->lock);   /* 2 */
    to->x += get(from);              /* 3 */
    pthread_mutex_unlock(&to->lock); /* 4 */
}

static void *second(void *unused)
{
    add(&a, &b);
    return unused;
}

static void *third(void *unused)
{
    add(&b, &a);
    return unused;
}

int main(void)
{
    pthread_t t2, t3;

    pthread_create(&t2, NULL, second, NULL); /* 21 */
    pthread_create(&t3, NULL, third, NULL);  /* 22 */
    pthread_join(t2, NULL);
    pthread_join(t3, NULL);
    return 0;
}
//? run: T1.6 T1.3 T1.3 T2.6 T2.3 T2.3
//? reads-from: lock-cycle 5 5
//? values: lock-cycle 5 5
//? symbolic: lock-cycle 5 5
