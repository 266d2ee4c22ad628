#include "harness.h"
volatile int y=5, cp;
__attribute__((noinline)) int tail2(int a){ int (*volatile p)(int)=abs; __attribute__((musttail)) return p(a); }
void *rdr(void*a){ int v=y; int c=cp; FORETRACE_ASSERT(v==5||v==c); return a;}
int main(){ pthread_t t2; int r=begin(); pthread_create(&t2,0,rdr,0); cp=r; tail2(3); y=r; finish(); pthread_join(t2,0); }
