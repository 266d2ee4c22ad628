//! What each line means, what is wrong with bad ones, and that nothing is lost on the way back.

use expect_test::{Expect, expect};

use super::*;
use crate::event::*;
use crate::expr::{BinaryOp, Expr, UnaryOp};
use crate::ids::*;

/// Compares the canonical form of a text, and that it means the same.
fn check(input: &str, expected: Expect) {
    let trace = parse(input).unwrap_or_else(|error| panic!("{error}"));
    let printed = print(&trace);
    assert_eq!(parse(&printed).as_ref(), Ok(&trace), "{printed}");
    expected.assert_eq(printed.strip_prefix("foretrace-trace 1\n").unwrap());
}

/// A transcript of texts that are no traces, and what is wrong with them.
fn errors(expected: Expect) {
    let error = |input: &str| parse(input).expect_err("this text is no trace").to_string();
    expected.assert_eq(&foretrace_testing::transcript(expected.data(), error));
}

fn check_error(input: impl AsRef<[u8]>, expected: Expect) {
    let error = parse(input).expect_err("this text is no trace");
    expected.assert_eq(&error.to_string());
}

#[test]
fn the_examples_of_the_design() {
    check(
        "init x = 5\n\
         t1: r1 = read x : 5 @ a.c:12\n\
         t1: write x = r1 + 1 : 6\n\
         t1: branch r1 > 0 : true\n\
         t2: acquire m\n",
        expect![[r#"
            init x = 5
            t1: r1 = read x : 5 @ a.c:12
            t1: write x = r1 + 1 : 6
            t1: branch r1 > 0 : true
            t2: acquire m
        "#]],
    );
}

#[test]
fn branches_that_must_go_as_they_went() {
    check(
        "t1: r = read x : 5\nt1: branch r != 0 : true else null @ a.c:3\nt1: branch r != 0 : true else division\n\
         t1: branch r <u 9 : true else bounds\nt1: branch r == 5 : true else freed\n",
        expect![[r#"
            t1: r = read x : 5
            t1: branch r != 0 : true else null @ a.c:3
            t1: branch r != 0 : true else division
            t1: branch r <u 9 : true else bounds
            t1: branch r == 5 : true else freed
        "#]],
    );
    errors(expect![[r#"
        > t1: branch 1 : true else wrong
        line 1, column 26: expected `null`, `division`, `bounds`, `freed` or `address`, but found `wrong`
    "#]]);
}

#[test]
fn benign_places() {
    check(
        "t1: read y\nbenign x[4:2] why\nbenign y \"two words\"\n",
        expect![[r#"
            object y
            object x
            benign x[4:2] "why"
            benign y "two words"
            t1: read y
        "#]],
    );
    check_error(
        "benign x",
        expect!["line 1, column 9: expected the reason, in quotes, but the line ends"],
    );
}

#[test]
fn accesses() {
    check(
        "foretrace-trace 1\n\
         t1: read x\n\
         t1: read x[4:2] : 65535   # two bytes\n\
         t1: read x[0:1] : -1\n\
         t1: read x:-1 atomic\n\
         t1: read x : ? atomic relaxed\n\
         t1: write x\n\
         t1: write x=7\n\
         t1: write x : 7\n\
         t1: write x[0:1] = 300\n\
         t1: write x = 7 : ? atomic release @ a.c:1\n\
         t1: rmw x : 5 -> 6\n\
         t1: r2 = rmw x : 5 -> r2 + 1 : 6 atomic acq_rel\n\
         t1: rmw x -> 1 : 1 plain\n\
         t1: rmw x : 0x10\n\
         t1: rmw x\n",
        expect![[r#"
            t1: read x
            t1: read x[4:2] : 65535
            t1: read x[0:1] : 255
            t1: read x : -1 atomic seq_cst
            t1: read x atomic relaxed
            t1: write x
            t1: write x = 7
            t1: write x : 7
            t1: write x[0:1] = 300
            t1: write x = 7 : ? atomic release @ a.c:1
            t1: rmw x : 5 -> 6
            t1: r2 = rmw x : 5 -> r2 + 1 : 6 atomic acq_rel
            t1: rmw x -> 1 : 1 plain
            t1: rmw x : 16
            t1: rmw x
        "#]],
    );
}

#[test]
fn a_missing_value_is_computed_if_the_reads_are_known() {
    check(
        "t1: r = read x : 5\n\
         t1: u = read y\n\
         t1: write x[0:1] = r * 100\n\
         t1: write x = r + u\n\
         t1: branch r == 5\n\
         t1: assert !(r == 5) || u : false\n\
         t1: assume r < 0 && u\n\
         t2: r = read x : 9\n\
         t2: write x = r\n\
         t2: branch : true\n",
        expect![[r#"
            t1: r = read x : 5
            t1: u = read y
            t1: write x[0:1] = r * 100 : 244
            t1: write x = r + u : ?
            t1: branch r == 5 : true
            t1: assert !(r == 5) || u : false
            t1: assume r < 0 && u : false
            t2: r = read x : 9
            t2: write x = r : 9
            t2: branch : true
        "#]],
    );
}

#[test]
fn expressions_keep_their_shape() {
    check(
        "t: a = read x : 6\n\
         t: \"b c\" = read y : 3\n\
         t: write z = a-1-(2-3)*4 << 1 & 0xff | \"b c\" ^ 1\n\
         t: write z = (a + 1) * -2 - -(2) - - 3 - ~!-a\n\
         t: write z = a > 1 == (1 == 1) && a || 0\n\
         t: write z = a ? 1 : \"b c\" ? 2 : 3 : 1\n\
         t: write z = (a ? 1 : 0) ? (a ? 4 : 5) : 3\n\
         t: write z = u4( -a*2 )+s3(a ? a : 1)/u 2 - u63(-1)>>u(60)\n\
         t: write z = (a <u8(258)) + (a <u-1) * 2 | (a>=u 6)==(a>u 6)\n\
         t: write z = (a <=u 5 ? 1 : 2) %u 2 << -u1(a) >> ~s1(a+1)\n\
         t: u = read y : 2\n\
         t: u8 = read y : 3\n\
         t: write z = u8(u8)- u8 -(u) <u u<< u8 &(a < u)\n",
        expect![[r#"
            t: a = read x : 6
            t: "b c" = read y : 3
            t: write z = a - 1 - (2 - 3) * 4 << 1 & 255 | "b c" ^ 1 : 18
            t: write z = (a + 1) * -2 - -(2) - -(3) - ~!-a : -8
            t: write z = a > 1 == (1 == 1) && a || 0 : 1
            t: write z = a ? 1 : "b c" ? 2 : 3 : 1
            t: write z = (a ? 1 : 0) ? a ? 4 : 5 : 3 : 4
            t: write z = u4(-a * 2) + s3(a ? a : 1) /u 2 - u63(-1) >>u 60 : 0
            t: write z = (a < u8(258)) + (a <u -1) * 2 | a >=u 6 == a >u 6 : 2
            t: write z = (a <=u 5 ? 1 : 2) %u 2 << -u1(a) >> ~s1(a + 1) : 0
            t: u = read y : 2
            t: u8 = read y : 3
            t: write z = u8(u8) - u8 - u <u u << u8 & a < u : 0
        "#]],
    );
}

#[test]
fn synchronisation() {
    check(
        "lock m recursive\nlock n plain\nsemaphore s = 2\nbarrier b = 3\n\
         t1: acquire m\nt1: acquire shared m\nt1: tryacquire m : ok\nt1: tryacquire shared m : fail\n\
         t1: timedacquire m : fail\nt1: timedacquire shared m : ok\nt1: release m\n\
         t1: release shared m\nt1: destroy n\n\
         t1: wait c m\nt1: wake c m\nt1: timedwait c m\nt1: wake c m timeout\nt1: wake c m spurious\n\
         t1: signal c\nt1: broadcast c\n\
         t1: semwait s\nt1: trysemwait s : ok\nt1: trysemwait s : fail\nt1: timedsemwait s : ok\n\
         t1: timedsemwait s : fail\nt1: sempost s\nt1: arrive b\nt1: leave b\n\
         t1: acquire m : ok\nt1: acquire m : fail\n",
        expect![[r#"
            lock m recursive
            lock n plain
            semaphore s = 2
            barrier b = 3
            t1: acquire m
            t1: acquire shared m
            t1: tryacquire m : ok
            t1: tryacquire shared m : fail
            t1: timedacquire m : fail
            t1: timedacquire shared m : ok
            t1: release m
            t1: release shared m
            t1: destroy n
            t1: wait c m
            t1: wake c m
            t1: timedwait c m
            t1: wake c m timeout
            t1: wake c m spurious
            t1: signal c
            t1: broadcast c
            t1: semwait s
            t1: trysemwait s : ok
            t1: trysemwait s : fail
            t1: timedsemwait s : ok
            t1: timedsemwait s : fail
            t1: sempost s
            t1: arrive b
            t1: leave b
            t1: acquire m
            t1: acquire m : fail
        "#]],
    );
}

#[test]
fn everything_else() {
    check(
        "note \"lines skipped\" = 3\n\
         t1: begin\nt1: fork t2\nt1: request acquire m\nt1: request acquire shared m\n\
         t1: request semwait s\nt1: request join t3\nt1: join t2\nt1: alloc p size 16 at 0x1000\n\
         t1: alloc q size 4\nt1: free p\nt1: region begin\nt1: region end\nt1: fence seq_cst\n\
         t1: fence plain\nt1: external @ strlen of libc, called at a.c:3 # a comment\nt1: end\nt1: exit\n",
        expect![[r#"
            note "lines skipped" = 3
            t1: begin
            t1: fork t2
            t1: request acquire m
            t1: request acquire shared m
            t1: request semwait s
            t1: request join t3
            t1: join t2
            t1: alloc p size 16 at 0x1000
            t1: alloc q size 4
            t1: free p
            t1: region begin
            t1: region end
            t1: fence seq_cst
            t1: fence plain
            t1: external @ strlen of libc, called at a.c:3
            t1: end
            t1: exit
        "#]],
    );
}

#[test]
fn calls() {
    check(
        "t1: enter-call pipe#1 >log <clock by read @ a.c:3\nt1: leave-call\nt2: enter-call * by mystery\n\
         t2: leave-call @ a.c:4\nt1: enter-call\nt1: leave-call\nt1: enter-call \"by\" >\"*\" <\">log\" by by\n",
        expect![[r#"
            t1: enter-call pipe#1 >log <clock by read @ a.c:3
            t1: leave-call
            t2: enter-call * by mystery
            t2: leave-call @ a.c:4
            t1: enter-call
            t1: leave-call
            t1: enter-call "by" >"*" <">log" by by
        "#]],
    );
    check(
        "t1: enter-call <p waits-for data piece \"by\" by read\nt1: enter-call waits-for \"a b\" @ a.c:1\n\
         t2: enter-call \"waits-for\" >piece waits-for \"waits-for\"\n",
        expect![[r#"
            t1: enter-call <p waits-for data piece by by read
            t1: enter-call waits-for "a b" @ a.c:1
            t2: enter-call "waits-for" >piece waits-for waits-for
        "#]],
    );
    errors(expect![[r#"
        > t1: enter-call p waits-for data q
        line 1, column 33: expected the end of the line, but found `q`
        > t1: enter-call * waits-for data
        line 1, column 18: expected the end of the line, but found `waits-for`
    "#]]);
    // What no event names, or names in another order, is declared.
    check(
        "function write\nchannel b\nchannels >b\nchannels *\nt1: enter-call a >b by read\n",
        expect![[r#"
            function write
            function read
            channel b
            channel a
            channels >b
            channels *
            channels >b a
            t1: enter-call >b a by read
        "#]],
    );
    // Events name `a` first, but the list of `b` comes first.
    check(
        "channel a\nchannel b delayed\nchannels b\nt1: enter-call a\nt1: enter-call b\n",
        expect![[r#"
            channel a
            channel b delayed
            channels b
            channels a
            t1: enter-call a
            t1: enter-call b
        "#]],
    );
    errors(expect![[r#"
        > t1: enter-call a >a
        line 1, column 19: the channel `a` is there twice
          hint: a bare name is both ways
        > t1: enter-call * a
        line 1, column 18: expected the end of the line, but found `a`
    "#]]);
    check_error(
        "t1: enter-call > by read",
        expect![
            "line 1, column 18: expected the name of a channel, in quotes if it is `by`, `waits-for` or `*`, but found `by`"
        ],
    );
}

#[test]
fn branches_that_nobody_wrote() {
    check(
        "t1: i = read n : 2\nt1: branch i != 0 : true else null\nt1: branch i < 8 : true else bounds\n\
         t1: branch i * 4 == 8 : true else address 0x20\nt1: write a[8:4] = 1\n",
        expect![[r#"
            t1: i = read n : 2
            t1: branch i != 0 : true else null
            t1: branch i < 8 : true else bounds
            t1: branch i * 4 == 8 : true else address 32
            t1: write a[8:4] = 1
        "#]],
    );
    check_error(
        "t1: branch : true else address",
        expect!["line 1, column 31: expected the bytes of the object, but the line ends"],
    );
}

#[test]
fn names_are_almost_anything() {
    check(
        "# a comment, then white space and a line end of Windows\n \t\n\
         init: read init : 5\r\n\
         lock: acquire lock\n\
         std::vec: acquire obj#12 # comment\n\
         0x7f12: acquire Foo@1a2b\n\
         Ünïcode: acquire <init>()\n\
         \"a b\": acquire \"shared\"\n\
         t: acquire shared \"p->q\"\n\
         t: acquire \"tab\\tquote\\\"\\u{1}\"@ \"x # y\"\n\
         t: \"5\" = read \"\"\n\
         t: write x = \"5\"\n",
        expect![[r#"
            init: read init : 5
            lock: acquire lock
            std::vec: acquire obj#12
            0x7f12: acquire Foo@1a2b
            Ünïcode: acquire <init>()
            "a b": acquire "shared"
            t: acquire shared "p->q"
            t: acquire "tab\tquote\"\u{1}" @ "x # y"
            t: "5" = read ""
            t: write x = "5" : ?
        "#]],
    );
}

#[test]
fn tables_are_declared_only_where_the_order_needs_it() {
    check(
        "thread t1\nthread t2\nobject unused\ncond c\nlock a\nlock b plain\nsemaphore s\nbarrier b\n\
         location a.c:1\nname r\nt2: acquire b\nt1: acquire a\nt1: signal c\n",
        expect![[r#"
            thread t1
            thread t2
            object unused
            name r
            location a.c:1
            lock a
            lock b plain
            semaphore s
            barrier b
            t2: acquire b
            t1: acquire a
            t1: signal c
        "#]],
    );
}

#[test]
fn lines_of_events_are_kept() {
    let (_, lines) = parse_with_lines("# c\nlock m\nt1: begin\n\nt1: end").unwrap();
    assert_eq!([lines.line(EventId(0)), lines.line(EventId(1))], [3, 5]);
}

#[test]
fn errors_say_where_what_and_how_else() {
    errors(expect![[r#"
        > t1: begin; foretrace-trace 1
        line 2, column 1: `foretrace-trace` stands only on the first line
        > foretrace-trace 2
        line 1, column 17: version 2 of the text form is not known
          hint: this program reads version 1
        > t1: raed x
        line 1, column 5: unknown event `raed`
          hint: did you mean `read`?
        > t1: lock m
        line 1, column 5: unknown event `lock`
          hint: did you mean `acquire`?
        > t1 read x
        line 1, column 1: expected `:` after the thread `t1`, or a declaration
          hint: an event is `thread: event`; declarations are thread, object, lock, cond, semaphore, barrier, channel, channels, function, init, benign, location, name, dependences, note, fact
        > t1:
        line 1, column 4: expected an event, but the line ends
        > t1: read x : 5 6
        line 1, column 16: expected the end of the line, but found `6`
        > t1: read x[4]
        line 1, column 13: expected `:` and the size in bytes, but found `]`
          hint: a place is written x or x[offset:size]; x[4:8] are the 8 bytes from 4 on
        > t1: read x[4:0]
        line 1, column 14: an access has at least 1 byte
        > t1: read x[4294967295:1]
        line 1, column 10: the place ends behind byte 2^32 - 1
        > t1: read x[4294967296:1]
        line 1, column 12: the offset of a place is between 0 and 2^32 - 1
        > t1: read x[0:1] : 256
        line 1, column 19: 256 does not fit in 1 byte
        > t1: read x[0:2] : -32769
        line 1, column 19: -32769 does not fit in 2 bytes
        > t1: read x : 18446744073709551616
        line 1, column 14: `18446744073709551616` does not fit in 64 bits
        > t1: read x : 5x
        line 1, column 14: `5x` is not a whole number
        > t1: read x : 5 relaxed
        line 1, column 16: a memory order needs `atomic` before it
          hint: for example: read x : 5 atomic relaxed
        > t1: r = acquire m
        line 1, column 9: only a `read` or `rmw` binds a name
        > t1: tryacquire m
        line 1, column 17: expected `: ok` or `: fail`, but the line ends
        > t1: region
        line 1, column 11: expected `begin` or `end`, but the line ends
        > init x[0:16] = 1
        line 1, column 6: an initial value has at most 8 bytes
          hint: declare the place in parts of 8 bytes
        > barrier b = 0
        line 1, column 13: a barrier has at least 1 party
        > lock m plain; lock m recursive
        line 2, column 6: `m` is given a kind twice
        > t1: acquire "m
        line 1, column 13: the quote is not closed on this line
          hint: a line break in a name is written \n
    "#]]);
    check_error(
        r#"t1: acquire "m\u{d800}""#,
        expect![[r#"
            line 1, column 15: unknown escape
              hint: the escapes are \" \\ \n \t \r and \u{…} with hexadecimal digits"#]],
    );
    check_error(b"t1: begin\nt1: read \xff", expect!["line 2, column 10: byte 0xff is not UTF-8"]);
}

#[test]
fn errors_in_expressions() {
    errors(expect![[r#"
        > t1: r = read x : 5; t1: write x = r + 1 : 7
        line 2, column 23: the expression gives 6, but the recorded value is 7
          hint: correct the expression, a read before it, or the value
    "#]]);
    check_error(
        "t1: r = read x : 5\nt1: branch r > 5 : true",
        expect![[r#"
            line 2, column 20: the condition is false, but the recorded outcome is true
              hint: correct the condition, a read before it, or the outcome"#]],
    );
    check_error(
        "t1: r = read x\nt1: branch r > 5",
        expect![[r#"
            line 2, column 17: which way it went is not recorded, and cannot be computed
              hint: write `: true` or `: false` after the condition"#]],
    );
    errors(expect![[r#"
        > t1: write x = r
        line 1, column 15: no read of t1 before this line binds the name `r`
          hint: bind it first: r = read …
        > t1: r = read x : 5; t2: write x = r
        line 2, column 15: no read of t2 before this line binds the name `r`
          hint: other threads' reads do not count: let this thread read the value first
        > t1: write x = 1 +
        line 1, column 18: expected a number or the name of a read, but the line ends
        > t1: write x = u64(1)
        line 1, column 15: there is no cast `u64`
          hint: a cast keeps 1 to 63 bits: u1(x) to u63(x), s1(x) to s63(x)
        > t1: write x = s08(1)
        line 1, column 15: there is no cast `s08`
          hint: a cast keeps 1 to 63 bits: u1(x) to u63(x), s1(x) to s63(x)
        > t1: write x = é8(1)
        line 1, column 15: no read of t1 before this line binds the name `é8`
          hint: bind it first: é8 = read …
        > t1: write x = 1 <u
        line 1, column 19: expected a number or the name of a read, but the line ends
        > t1: write x = u8(1
        line 1, column 19: expected `)`, but the line ends
        > t1: write x = (1
        line 1, column 17: expected `)`, but the line ends
    "#]]);
}

#[test]
fn deep_expressions_are_refused_and_never_overflow() {
    let chain = |count: usize| format!("t: write x = 1{}", " + 1".repeat(count));
    assert!(parse(chain(MAX_DEPTH)).is_ok());
    check_error(
        chain(100_000),
        expect!["line 1, column 532: the expression is nested more than 128 operators deep"],
    );
    for nested in ["(", "-", "!", "1 - (", "1 ? ", "1 || 1 && 1 | 1 ^ 1 & 1 == 1 < 1 << 1 + 1 * "] {
        let error = parse(format!("t: write x = {}1", nested.repeat(100_000))).unwrap_err();
        assert!(error.message.contains("128 operators deep"), "{nested}: {error}");
    }
    // The deepest term with all its parentheses comes back.
    let mut expr = Expr::Literal(1);
    for level in 0..MAX_DEPTH {
        expr = match level % 3 {
            0 => Expr::Binary(BinaryOp::Mul, Box::new(Expr::Literal(3)), Box::new(expr)),
            1 => Expr::IfThenElse(
                Box::new(expr),
                Box::new(Expr::Literal(2)),
                Box::new(Expr::Literal(0)),
            ),
            _ => Expr::Unary(UnaryOp::Neg, Box::new(expr)),
        };
    }
    let mut builder = Trace::builder();
    let (thread, object) = (builder.thread("t"), builder.object("x"));
    let at = Place { object, offset: 0, size: 8 };
    let op = Op::Write { at, value: None, order: MemoryOrder::Plain };
    let event = builder.push(Event { thread, op, location: None });
    builder.express(event, expr);
    let trace = builder.finish();
    assert_eq!(parse(print(&trace)), Ok(trace));
}
