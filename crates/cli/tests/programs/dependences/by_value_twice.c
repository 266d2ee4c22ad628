#include "harness.h"
struct S { long a,b,c; };
__attribute__((noinline)) void norm(struct S *s){ if (s->c) s->a = 0; }
__attribute__((noinline)) long take(struct S s, long k){ norm(&s); s.a += k; norm(&s); return s.a+s.b; }
long one, two;
int main(){ int r=begin(); struct S z={0,0,0}; one=take(z,r); two=take(z,5); CHECK(two==5); finish(); }
