//! Fork, join and exit.

use super::*;

#[test]
fn fork_and_join_order() {
    check(
        "t1: write x : 1\nt1: fork t2\nt1: write y : 1\nt2: write x : 2\nt2: write y : 2\n\
         t1: join t2\nt1: write x : 3\nt1: write y : 3\n",
        expect![[r#"
            race 2 4
        "#]],
    );
}

#[test]
fn nothing_follows_an_exit() {
    check(
        "t1: write x : 1\nt2: write y : 1\nt1: write y : 2\nt2: exit\n",
        expect![[r#"
        race 1 2
    "#]],
    );
}
