//! Repairs the lives of threads: whom a fork starts, and where `begin` and `end` stand.
//!
//! **Computes.** Which steps are dropped, and for each fork and join the thread that it means.
//!
//! **Invariant.** No repair takes away an order that held in the recorded run:
//!
//! 1. *Names.* `fork(151)` means thread `T151` if there are events of `T151` and none of `151`.
//!    Taken literally the fork would start a thread that does nothing, and `T151` would be free to
//!    run before it. The repair only adds order.
//! 2. *The wrong child.* One thread is forked that never does anything, and one thread that nobody
//!    forks has its first event after that fork. Then the fork is taken as that thread's. If the
//!    guess is wrong, an order too many is kept, never one too few.
//! 3. *Forked twice.* Repeated forks by one thread, all before the child's first event: the last
//!    one is kept. Program order puts the dropped ones before it, so they still precede the child.
//!    Forks by different threads, or of a thread that already runs, say something that a trace
//!    cannot (which of them counts? is the thread id used again?) and are errors.
//! 4. *Begin.* It has no effect on what other threads may do. One is kept per thread: the last that
//!    follows the fork and precedes the thread's other events.
//! 5. *End.* It is kept only if its thread does nothing more, has not been joined yet, and did not
//!    hang in the request before. A thread hangs if nothing of it, and no join of it, follows its
//!    request: RapidBin writes ends for such threads too.
//!
//! **Cost.** O(n) time, one byte per step.

use super::steps::{Steps, What};
use super::{ImportError, Problem};
use crate::ThreadId;
use crate::provenance::Repair;

/// What happens to one thread, as numbers of steps.
#[derive(Clone, Default)]
struct Life {
    /// First step other than `begin`.
    first: Option<usize>,
    /// Last step other than `end`.
    last: Option<usize>,
    /// Whether it does more than begin and end.
    works: bool,
    forks: Vec<usize>,
    joined: Option<usize>,
}

/// Makes the targets of forks and joins threads and returns for each step whether it is dropped.
pub(super) fn repair(steps: &mut Steps) -> Result<Vec<bool>, ImportError> {
    let mut dropped = vec![false; steps.list.len()];
    name_children(steps);
    let mut lives = lives(steps);
    correct_child(steps, &mut lives);
    drop_repeated_forks(steps, &mut lives, &mut dropped)?;
    drop_begins(steps, &lives, &mut dropped);
    drop_ends(steps, &lives, &mut dropped);
    Ok(dropped)
}

fn name_children(steps: &mut Steps) {
    // Only threads that have events are in the table so far.
    let threads = steps.builder.so_far().threads();
    let meant: Vec<(Option<usize>, bool)> = steps
        .children
        .iter()
        .map(|name| match threads.find(name) {
            Some(literal) => (Some(literal), false),
            None => {
                let prefixed = threads.find(&format!("T{name}"));
                (prefixed, prefixed.is_some())
            }
        })
        .collect();
    let children: Vec<ThreadId> = meant
        .iter()
        .enumerate()
        .map(|(child, &(known, _))| match known {
            Some(thread) => ThreadId::from(thread),
            None => steps.builder.thread(steps.children.get(child)),
        })
        .collect();
    let mut repairs = 0;
    for step in &mut steps.list {
        if matches!(step.what, What::Fork | What::Join) {
            repairs += u64::from(meant[step.target as usize].1);
            step.target = children[step.target as usize].0;
        }
    }
    if repairs > 0 {
        steps.builder.tell(Repair::ForkByNumber, repairs);
    }
}

fn lives(steps: &Steps) -> Vec<Life> {
    let mut lives = vec![Life::default(); steps.builder.so_far().threads().len()];
    for (number, step) in steps.list.iter().enumerate() {
        let life = &mut lives[step.thread.index()];
        if step.what != What::Begin {
            life.first.get_or_insert(number);
        }
        if step.what != What::End {
            life.last = Some(number);
        }
        life.works |= !matches!(step.what, What::Begin | What::End);
        match step.what {
            What::Fork => lives[step.target as usize].forks.push(number),
            What::Join => {
                lives[step.target as usize].joined.get_or_insert(number);
            }
            _ => {}
        }
    }
    lives
}

fn correct_child(steps: &mut Steps, lives: &mut [Life]) {
    let mut idle = (0..lives.len()).filter(|&at| !lives[at].works && !lives[at].forks.is_empty());
    let (Some(idle), None) = (idle.next(), idle.next()) else { return };
    let Some(&forked) = lives[idle].forks.last() else { return };
    let mut orphans = (0..lives.len()).filter(|&at| {
        let life = &lives[at];
        life.works && life.forks.is_empty() && life.first.is_some_and(|first| first > forked)
    });
    let (Some(orphan), None) = (orphans.next(), orphans.next()) else { return };
    for step in &mut steps.list {
        if matches!(step.what, What::Fork | What::Join) && step.target as usize == idle {
            step.target = orphan as u32;
        }
    }
    let forks = std::mem::take(&mut lives[idle].forks);
    let joined = lives[idle].joined.take();
    lives[orphan].forks = forks;
    // The earlier of the two joins is the one after which nothing may come.
    lives[orphan].joined = match (lives[orphan].joined, joined) {
        (Some(own), Some(other)) => Some(own.min(other)),
        (own, other) => own.or(other),
    };
    steps.builder.tell(Repair::ForkOfIdleThread, 1);
}

fn drop_repeated_forks(
    steps: &mut Steps,
    lives: &mut [Life],
    dropped: &mut [bool],
) -> Result<(), ImportError> {
    let mut repairs = 0;
    for (child, life) in lives.iter_mut().enumerate() {
        let Some((&last, earlier)) = life.forks.split_last() else { continue };
        let name = steps.thread_name(ThreadId::from(child));
        if let Some(first) = life.first.filter(|&first| first <= last) {
            let broken = format!(
                "{} forks {name}, which runs since {}",
                steps.thread_name(steps.list[last].thread),
                steps.position(first).to_string().trim_end_matches(": "),
            );
            let rule = "a thread is forked once, before its first event";
            return Err(Problem::rule(broken, rule).at(steps.position(last)));
        }
        if let Some(&other) =
            earlier.iter().find(|&&fork| steps.list[fork].thread != steps.list[last].thread)
        {
            let broken = format!(
                "{} forks {name}, which {} has forked at {}",
                steps.thread_name(steps.list[last].thread),
                steps.thread_name(steps.list[other].thread),
                steps.position(other).to_string().trim_end_matches(": "),
            );
            let rule = "a thread is forked once";
            return Err(Problem::rule(broken, rule).at(steps.position(last)));
        }
        if let Some(joined) = life.joined.filter(|&joined| joined < last) {
            let broken = format!(
                "{} joins {name}, which is forked at {}",
                steps.thread_name(steps.list[joined].thread),
                steps.position(last).to_string().trim_end_matches(": "),
            );
            let rule = "a thread is joined after it was forked";
            return Err(Problem::rule(broken, rule).at(steps.position(joined)));
        }
        for &fork in earlier {
            dropped[fork] = true;
            repairs += 1;
        }
        life.forks = vec![last];
    }
    if repairs > 0 {
        steps.builder.tell(Repair::RepeatedFork, repairs);
    }
    Ok(())
}

fn drop_begins(steps: &mut Steps, lives: &[Life], dropped: &mut [bool]) {
    let mut kept: Vec<Option<usize>> = vec![None; lives.len()];
    let mut repairs = 0;
    for (number, step) in steps.list.iter().enumerate() {
        if step.what != What::Begin {
            continue;
        }
        let life = &lives[step.thread.index()];
        let too_early = life.forks.last().is_some_and(|&fork| number < fork);
        let too_late = life.first.is_some_and(|first| first < number);
        if too_early || too_late {
            dropped[number] = true;
            repairs += 1;
        } else if let Some(before) = kept[step.thread.index()].replace(number) {
            dropped[before] = true;
            repairs += 1;
        }
    }
    if repairs > 0 {
        steps.builder.tell(Repair::MisplacedBegin, repairs);
    }
}

fn drop_ends(steps: &mut Steps, lives: &[Life], dropped: &mut [bool]) {
    let mut kept = vec![false; lives.len()];
    let (mut repeated, mut hung) = (0, 0);
    for (number, step) in steps.list.iter().enumerate() {
        if step.what != What::End {
            continue;
        }
        let thread = step.thread.index();
        let life = &lives[thread];
        let goes_on = life.last.is_some_and(|last| last > number);
        let joined = life.joined.is_some_and(|joined| joined < number);
        // A thread that was joined did not hang.
        let hangs = life.joined.is_none()
            && life.last.is_some_and(|last| steps.list[last].what == What::Request);
        if goes_on || joined || kept[thread] {
            dropped[number] = true;
            repeated += 1;
        } else if hangs {
            dropped[number] = true;
            hung += 1;
        } else {
            kept[thread] = true;
        }
    }
    if repeated > 0 {
        steps.builder.tell(Repair::MisplacedEnd, repeated);
    }
    if hung > 0 {
        steps.builder.tell(Repair::EndOfHungThread, hung);
    }
}
