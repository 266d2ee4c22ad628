// Addresses that are kept as recorded: in an array on a stack, in one that is too large, of a copy.
#include <pthread.h>
#include <string.h>

static int next;
static int large[1000];
static int *small;
static struct part { int words[8]; } parts[4], all[2];

static void *claim(void *unused)
{
    int claimed = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST), mine = claimed & 1;
    large[claimed] = 1;
    small[mine] = 1;
    memcpy(&parts[mine], &all[mine], sizeof parts[0]);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    int here[2] = {0, 0};
    small = here;
    pthread_create(&a, NULL, claim, NULL);
    pthread_create(&b, NULL, claim, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return large[0] + here[0] + parts[0].words[0] > 2;
}
