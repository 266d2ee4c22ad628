#include "harness.h"
#include <errno.h>
#include <semaphore.h>
sem_t s;
int main(){ sem_init(&s,0,0); int r=begin(); errno=r?5:EAGAIN; sem_trywait(&s); int e=errno; CHECK(e==EAGAIN); finish(); }
