/* Locks of inline assembly: one that is understood, and two that are not, which guard a counter. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ASM __asm__ __volatile__

static int word;
static int count;
static unsigned long pair[2] __attribute__((aligned(16)));

/* With `pause`, or without. */
static void understood(int waits)
{
    int mine = 1;

    for (;;) {
        ASM("xchgl %0, %1" : "+r"(mine), "+m"(word) : : "memory");
        if (!mine)
            return;
        if (waits)
            ASM("rep; nop" : : : "memory");
    }
}

static void give_back(void)
{
    ASM("movl $0, %0" : "=m"(word) : : "memory");
}

/* Exchanges 16 bytes, which is not understood. */
static int exchange(unsigned long from, unsigned long to)
{
    unsigned char done;
    unsigned long high = 0;

    ASM("lock cmpxchg16b %0; setz %1"
        : "+m"(pair), "=q"(done), "+a"(from), "+d"(high)
        : "b"(to), "c"(0ul)
        : "memory", "cc");
    return done;
}

/* Jumps when the lock is taken, which is not understood either. */
static int jumping(void)
{
    ASM goto("lock; btsl $0, %0; jc %l1" : : "m"(word) : "memory", "cc" : taken);
    return 1;
taken:
    return 0;
}

static void *work(void *how)
{
    char which = *(char *)how;

    for (int i = 0; i < 2; i++) {
        if (which == 'w')
            while (!exchange(0, 1))
                ASM("pause");
        else if (which == 'j')
            while (!jumping())
                ASM("pause");
        else
            understood(which == 'p');
        count++;
        if (which == 'w')
            exchange(1, 0);
        else
            give_back();
    }
    return NULL;
}

int main(int arguments, char **argument)
{
    pthread_t threads[3];
    char *how = arguments > 1 ? argument[1] : "pause";

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, how);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert(count == 6);
    return 0;
}
