/* Arguments, a table of functions, and texts that other texts lead to: what a run is given, and
 * what variables hold before it, is known. */
#include <assert.h>
#include <pthread.h>

static int total;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static const char *const names[2] = {"one", "two"};

static void one(void) { total += 1; }
static void two(void) { total += 2; }
static void (*const table[2])(void) = {one, two};

static void *work(void *number) {
    pthread_mutex_lock(&guard);
    table[*(int *)number]();
    pthread_mutex_unlock(&guard);
    return 0;
}

int main(int argc, char **argv) {
    int wanted = argc > 1 ? argv[1][0] - '0' : 3;
    assert(names[1][0] == 't' && argv[argc] == 0);
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (int t = 0; t < 2; t++)
        pthread_create(&threads[t], 0, work, &numbers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], 0);
    assert(total == wanted);
    return 0;
}
