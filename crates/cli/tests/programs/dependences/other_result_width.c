#include "harness.h"
__attribute__((noinline)) long f64(long a){ return a<<32; }
int main(){ int r=begin(); int (*volatile p)(long)=(int(*)(long))f64; int y=p(r); CHECK(y==0); finish(); }
