//! Variables that threads only add to (`compose/sums.rs`) against all executions.

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/counters.rs"]
mod counters;

use foretrace_testing::cases;
use foretrace_verify::Options;

use compare::{Compared, compare};

#[test]
fn sums_agree_with_all_executions() {
    let (mut proved, mut wrong) = (0, 0);
    let count = cases(300, 10_000);
    for seed in 0..count {
        let text = counters::generate(seed);
        let options = Options { substitution: seed % 3 != 0, ..Options::default() };
        match compare(&text, &options) {
            Ok(Compared::Equal { violations }) if violations.is_empty() => proved += 1,
            Ok(Compared::Equal { .. }) => wrong += 1,
            Ok(Compared::Within | Compared::Skipped) => (),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
        }
    }
    assert!(proved > count / 10 && wrong > count / 10, "{proved} proved, {wrong} wrong");
}
