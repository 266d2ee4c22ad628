#include "harness.h"
struct RGB { unsigned char r,g,b; };
RGB (*volatile fp)(int);
__attribute__((noinline)) RGB mk(int v){ RGB c; c.r=v; c.g=0; c.b=v; return c; }
struct D { ~D(); int q; };
int dd;
__attribute__((noinline)) D::~D(){ dd++; }
int main(){ fp=mk; int r=begin(); int y; { D d; d.q=0; RGB c=fp(r); y=c.r+c.b; } if (y==0) CHECK(r==0); else CHECK(r==1); finish(); }
