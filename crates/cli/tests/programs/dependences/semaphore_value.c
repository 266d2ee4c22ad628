#include <pthread.h>
#include <semaphore.h>
#include <sched.h>
#include <foretrace.h>
int g; sem_t s;
void *v(void*a){ g=5; sem_post(&s); return a; }
int main(){ sem_init(&s,0,0); pthread_t b; pthread_create(&b,0,v,0); int n=0; sem_getvalue(&s,&n); while(!n){ sched_yield(); sem_getvalue(&s,&n);} FORETRACE_ASSERT(g==5); pthread_join(b,0); }
