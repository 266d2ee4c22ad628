//! Random programs whose threads add to one variable: under a lock, in one step, or neither.

use std::fmt::Write;

use foretrace_testing::Random;

/// A program as text.
pub(crate) fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    // All updates in one way, or in any.
    let way = [Some(0), Some(7), None, None][random.below(4)];
    let mut text = String::from("global x : 1\nglobal y : 1\nlock m\nlock n\n");
    let mut total: i64 = 0;
    for thread in 0..threads {
        let _ = writeln!(text, "func f{thread}() {{");
        for update in 0..1 + random.below(2) {
            let amount = 1 + random.below(3) as i64;
            let is_sum = random.below(4) != 0;
            total += if is_sum { amount } else { -amount };
            let op = if is_sum { "+" } else { "-" };
            let name = format!("v{update}");
            let plain = format!("{name} = load x; store x, {name} {op} {amount}");
            let _ = match way.unwrap_or_else(|| random.below(10)) {
                0..5 => writeln!(text, "  acquire m; {plain}; release m"),
                5 => writeln!(text, "  acquire n; {plain}; release n"),
                6 => writeln!(text, "  {plain}"),
                7 => writeln!(
                    text,
                    "  o{update} = rmw {} x, {amount}",
                    ["sub", "add"][is_sum as usize]
                ),
                8 => writeln!(
                    text,
                    "  acquire m; {name} = load x; release m; acquire m; store x, {name} {op} {amount}; \
                     release m"
                ),
                _ => writeln!(
                    text,
                    "  acquire m; if load y == 0 {{ {plain} }}; release m; store y, 1"
                ),
            };
        }
        let _ = writeln!(text, "}}");
    }
    let _ = writeln!(text, "thread main {{");
    let mut first = 0;
    if random.below(2) == 0 {
        first = random.below(5) as i64;
        let _ = writeln!(text, "  store x, {first}");
    }
    for thread in 0..threads {
        let _ = writeln!(text, "  t{thread} := fork f{thread}()");
    }
    if random.below(6) == 0 {
        let _ = writeln!(text, "  assert load x < {}", (first + total).clamp(1, 100));
    }
    for thread in 0..threads {
        let _ = writeln!(text, "  join t{thread}");
    }
    let expected = (first + total) & 0xff;
    let _ = writeln!(text, "  assert load x == {expected}\n}}");
    text
}
