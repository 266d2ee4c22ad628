/* Three stages of a kitchen. Each one works with two of three tools.
 *
 * Corrected: all take them in the order stove, knife, board. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t stove = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t knife = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t board = PTHREAD_MUTEX_INITIALIZER;
static int soups, salads, roasts;

static void *make_soup(void *unused)
{
    pthread_mutex_lock(&stove);
    pthread_mutex_lock(&knife);
    soups++;
    pthread_mutex_unlock(&knife);
    pthread_mutex_unlock(&stove);
    return unused;
}

static void *make_salad(void *unused)
{
    pthread_mutex_lock(&knife);
    pthread_mutex_lock(&board);
    salads++;
    pthread_mutex_unlock(&board);
    pthread_mutex_unlock(&knife);
    return unused;
}

static void *make_roast(void *unused)
{
    pthread_mutex_lock(&stove);
    pthread_mutex_lock(&board);
    roasts++;
    pthread_mutex_unlock(&board);
    pthread_mutex_unlock(&stove);
    return unused;
}

int main(void)
{
    pthread_t soup, salad, roast;

    pthread_create(&soup, NULL, make_soup, NULL);
    pthread_create(&salad, NULL, make_salad, NULL);
    pthread_create(&roast, NULL, make_roast, NULL);
    pthread_join(soup, NULL);
    pthread_join(salad, NULL);
    pthread_join(roast, NULL);

    assert(soups + salads + roasts == 3);
    printf("%d dishes\n", soups + salads + roasts);
    return 0;
}
