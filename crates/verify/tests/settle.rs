//! Values that must be known while a thread is unfolded (`unfold/settle.rs`).

use foretrace_program::parse;
use foretrace_verify::{Options, Verdict, verify};

/// Which lock `f` takes depends on what `g` stores, which is seen only when it is known which lock
/// `g` takes. So the first guess for `f` is `a`.
fn program(of_g: &str) -> String {
    format!(
        "global a : 40; global b : 40; global p : 8; global q : 8; global x : 4
         func f() {{ l = load p; acquire at l; v = load x; store x, v + 1; release at l }}
         func g() {{ l = load q; acquire at l; {of_g}; release at l }}
         func h() {{ u = load p; acquire at &a; v = load x; store x, v + 1; release at &a }}
         thread main {{
           store p, &a
           r := fork f(); t := fork h()
           store q, &b
           s := fork g()
           join r; join s; join t
           assert load x == 2
         }}"
    )
}

fn verdict(text: &str) -> Verdict {
    let options = Options { races: false, ..Options::default() };
    verify(&parse(text).expect("it is a program"), &options).verdict
}

#[test]
fn a_guess_that_is_right_proves() {
    for of_g in ["store atomic p, &a", "u = load p"] {
        let verdict = verdict(&program(of_g));
        assert!(matches!(verdict, Verdict::Proved), "{of_g}: {verdict:?}");
    }
}

#[test]
fn a_guess_that_is_wrong_hides_no_bug() {
    let verdict = verdict(&program("store p, &b"));
    assert!(matches!(verdict, Verdict::Bug(_)), "{verdict:?}");
}
