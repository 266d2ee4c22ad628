/* The program's own `sched_yield`, which does more than that of the C library. */
int yielded;

int sched_yield(void) {
    yielded = 1;
    return 0;
}
