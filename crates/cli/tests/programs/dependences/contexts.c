#include "harness.h"
#include <ucontext.h>
ucontext_t c[2]; char st1[65536];
int cur; int seen,seen2,first;
__attribute__((noinline)) void yield(void){ int me=cur; cur=1-me; swapcontext(&c[me],&c[1-me]); }
int rd(void){ pthread_mutex_lock(&m); int r=x; pthread_mutex_unlock(&m); return r; }
void w(void){ int r=rd(); if(!seen){seen=1;first=r;} yield(); if(!seen2){seen2=1; CHECK(first==r);} yield(); }
int main(){ pthread_create(&th,0,other,0); 
 getcontext(&c[1]); c[1].uc_stack.ss_sp=st1; c[1].uc_stack.ss_size=sizeof st1; c[1].uc_link=&c[0]; makecontext(&c[1],w,0);
 cur=0; w(); finish(); }
