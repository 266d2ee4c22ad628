/* Three threads compute lines of a report, which are put down one after the
 * other.
 *
 * Wrong: the lines are put down in any order, and two may go to the same
 * place. */
#include <assert.h>
#include <stdio.h>

static int lines[6], count;

int main(void)
{
#pragma omp parallel for num_threads(3) schedule(static, 1)
    for (int i = 0; i < 6; i++) {
        int line = 10 * i;
        lines[count++] = line;
    }

    assert(count == 6);
    printf("%d lines\n", count);
    return 0;
}
