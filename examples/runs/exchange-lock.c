// A lock that is taken by an exchange. WRONG looks first, and takes it then.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef WRONG
static atomic_int held;
static void take(void) {
    while (atomic_load(&held))
        sched_yield();
    atomic_store(&held, 1);
}
static void give(void) {
    atomic_store(&held, 0);
}
#else
static atomic_flag held = ATOMIC_FLAG_INIT;
static void take(void) {
    while (atomic_flag_test_and_set(&held))
        sched_yield();
}
static void give(void) {
    atomic_flag_clear(&held);
}
#endif

static int count;

static void *work(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 2; turn++) {
        take();
        count++;
        give();
    }
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(count == 4);
    return 0;
}
