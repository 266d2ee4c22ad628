// What is not in the code of the threads: code before `main`, and memory that functions of the C
// library read.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

int x;
char text[8] = "a";

#if CASE == 1
__attribute__((constructor)) static void before(void)
{
    x = 1;
}
#endif

static void *writes(void *unused)
{
    text[0] = 'b';
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
#if CASE == 2
    printf("%s\n", text);
#elif CASE == 3
    puts(text);
#else
    printf("%d %s\n", x, "text");
#endif
    pthread_join(thread, NULL);
    assert(x == 0);
    return 0;
}
