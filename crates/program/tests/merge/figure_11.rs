//! 000, Fig. 11: two runs in which the assertion holds, because one thread begins when the other
//! has finished.

/// Only `foo` takes its first arm.
pub(crate) const THEN_ELSE: &str = "
init x = 0
init y = 0
main: fork foo
main: fork bar
foo: a = read y : 0 @ t11
foo: branch a == 0 : true @ t12
foo: write x = 1 @ t13
foo: a = read x : 1 @ t14
foo: write x = a + 1 : 2 @ t15
foo: end
bar: b = read x : 2 @ t21
bar: branch b == 0 : false @ t22
bar: write y = 0 @ t27
bar: end
main: join bar
main: join foo
main: p = read x : 2 @ t5
main: q = read y : 0 @ t5
main: assert p != q : true @ t5
main: end
";

/// Only `bar` does.
pub(crate) const ELSE_THEN: &str = "
init x = 0
init y = 0
main: fork foo
main: fork bar
bar: b = read x : 0 @ t21
bar: branch b == 0 : true @ t22
bar: write y = 1 @ t23
bar: b = read y : 1 @ t24
bar: write y = b + 1 : 2 @ t25
bar: end
foo: a = read y : 2 @ t11
foo: branch a == 0 : false @ t12
foo: write x = 0 @ t17
foo: end
main: join bar
main: join foo
main: p = read x : 0 @ t5
main: q = read y : 2 @ t5
main: assert p != q : true @ t5
main: end
";
