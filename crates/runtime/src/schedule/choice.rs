//! How the next thread is chosen: the strategies, their random numbers, and how long turns are.
//!
//! All of it is a function of the seed and of what was drawn before.

/// How the next thread is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strategy {
    Random,
    /// Priorities that change at a few random places (probabilistic concurrency testing).
    Pct,
    RoundRobin,
    /// After a plan; behind its end, whoever can run.
    Replay,
    /// Somebody else chooses, at each operation.
    Explore,
}

pub(crate) struct Scheduler {
    pub(crate) strategy: Strategy,
    random: u64,
    /// Whose turn it is; nobody's while all that could run are outside.
    pub(crate) turn: Option<u32>,
    /// For how many operations.
    pub(super) granted: u64,
    /// Visible operations so far, about.
    pub(super) steps: u64,
    /// Where priorities change, descending.
    pub(super) changes: Vec<u64>,
    /// The next lowest priority.
    pub(super) lowest: i64,
    /// Whether a thread wants to end the process: see [`crate::ending`].
    pub(crate) is_ending: bool,
    /// How many turns ago time last jumped for a timer.
    pub(super) since_timers: u32,
}

/// A thread that spins must not keep the others from running for longer than this.
pub(super) const LONGEST_TURN: u64 = 20_000;

impl Scheduler {
    pub(crate) fn new(strategy: Strategy, seed: u64) -> Scheduler {
        let mut scheduler = Scheduler {
            strategy,
            random: seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            turn: None,
            granted: 0,
            steps: 0,
            changes: Vec::new(),
            lowest: 0,
            is_ending: false,
            since_timers: 0,
        };
        for _ in 0..8 {
            scheduler.draw();
        }
        if strategy == Strategy::Pct {
            // Few, and at every order of magnitude: nobody knows how long the run will be.
            for exponent in [4, 6, 8, 10, 13, 16, 20] {
                let place = scheduler.draw() % (1 << exponent);
                scheduler.changes.push(place);
            }
            scheduler.changes.sort_unstable_by(|a, b| b.cmp(a));
        }
        scheduler
    }

    /// xorshift64
    pub(super) fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// The priority of a new thread.
    pub(crate) fn priority(&mut self) -> i64 {
        (1 + self.draw() % (1 << 40)) as i64
    }

    /// For how long the thread that was chosen keeps the turn.
    pub(super) fn quantum(&mut self) -> u64 {
        let quantum = match self.strategy {
            // Short turns at first, so that small programs are mixed well; longer ones later, for
            // speed.
            Strategy::Random => {
                let mean = (self.steps / 64).clamp(8, 4096);
                1 + self.draw() % (2 * mean)
            }
            Strategy::RoundRobin => (self.steps / 64).clamp(8, 4096),
            // Behind the end of the plan.
            Strategy::Replay => 1000,
            Strategy::Explore => 1,
            Strategy::Pct => {
                let next = self.changes.last().copied().unwrap_or(u64::MAX);
                next.saturating_sub(self.steps).clamp(1, LONGEST_TURN)
            }
        };
        self.steps += quantum;
        quantum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The priorities and turns that a seed gives.
    fn drawn(strategy: Strategy, seed: u64) -> (Vec<i64>, Vec<u64>) {
        let mut scheduler = Scheduler::new(strategy, seed);
        let priorities = (0..8).map(|_| scheduler.priority()).collect();
        (priorities, (0..64).map(|_| scheduler.quantum()).collect())
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        for strategy in [Strategy::Random, Strategy::Pct, Strategy::RoundRobin] {
            assert_eq!(drawn(strategy, 7), drawn(strategy, 7));
            assert_ne!(drawn(strategy, 7).0, drawn(strategy, 8).0, "{strategy:?}");
        }
    }

    #[test]
    fn no_turn_is_empty_or_endless() {
        for strategy in [Strategy::Random, Strategy::Pct, Strategy::RoundRobin, Strategy::Replay] {
            for seed in 0..50 {
                let (priorities, turns) = drawn(strategy, seed);
                assert!(priorities.iter().all(|&priority| priority > 0), "{strategy:?} {seed}");
                let bounds = 1..=LONGEST_TURN;
                assert!(turns.iter().all(|turn| bounds.contains(turn)), "{strategy:?} {turns:?}");
            }
        }
    }

    #[test]
    fn whoever_explores_is_asked_at_each_operation() {
        assert!(drawn(Strategy::Explore, 1).1.iter().all(|&turn| turn == 1));
    }

    #[test]
    fn turns_by_priority_end_where_priorities_change() {
        let mut scheduler = Scheduler::new(Strategy::Pct, 3);
        assert!(scheduler.changes.is_sorted_by(|a, b| a >= b));
        let first = scheduler.changes.last().copied().unwrap();
        assert_eq!(scheduler.quantum(), first.clamp(1, LONGEST_TURN));
    }
}
