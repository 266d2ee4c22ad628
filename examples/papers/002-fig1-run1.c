/* Said et al., Generating Data Race Witnesses by an SMT-based Analysis, Fig. 1: `get` is not
 * synchronised. The numbers are lines of the figure.
 *
 * In the recorded run t2 comes first. With the values that were read only a.x races: to come
 * to its write of b.x, t3 must first read the a.x that t2 writes after its read of b.x. Nothing
 * branches on what is read, so that under `symbolic` both race. */
#include <pthread.h>

struct object {
    pthread_mutex_t lock;
    int x;
};

static struct object a = {PTHREAD_MUTEX_INITIALIZER, 1}, b = {PTHREAD_MUTEX_INITIALIZER, 1};

static int get(struct object *from)
{
    return from->x; /* 6 */
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
//? reads-from: race a 3 6
//? values: race a 3 6
//? symbolic: race a 3 6; race b 3 6
