//! Plans, as `foretrace` writes them.

use super::*;

/// The words of a plan: two threads, one step, one final operation.
fn plan() -> Vec<u64> {
    let step = |thread: u64, ordinal: u64, kind: u8| [thread | ordinal << 32, u64::from(kind), 0];
    let mut words = vec![MAGIC, 2, 1, 1, goal::RACE];
    words.extend(step(0, 0, 0));
    words.extend(step(0, 5, 0));
    words.extend(step(1, 3, kind::STORE));
    words.extend(step(0, 8, kind::LOAD));
    words.extend([7 | 2 << 32, 4, 0x1000, 16]);
    words.extend([2, 1, 30, 0, 20]);
    words
}

fn read(words: &[u64]) -> Option<Replay> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Replay::read(&bytes, b"answer")
}

#[test]
fn a_plan_says_who_is_whose_child() {
    let replay = read(&plan()).expect("the plan is whole");
    assert_eq!(replay.planned_child(Some(0), 5), Some(1));
    assert_eq!(replay.planned_child(Some(0), 4), None);
    assert_eq!(replay.planned_child(None, 5), None);
    let [step] = &replay.steps[..] else { panic!("there is one step") };
    assert_eq!((step.thread, step.ordinal, step.kind), (1, 3, u32::from(kind::STORE)));
    let [last] = &replay.finals[..] else { panic!("there is one final operation") };
    assert_eq!((last.thread, last.ordinal, last.kind), (0, 8, u32::from(kind::LOAD)));
}

#[test]
fn values_go_to_the_threads_that_they_are_for() {
    let mut replay = read(&plan()).expect("the plan is whole");
    assert_eq!(replay.value_for(Some(0)), Some(20));
    assert_eq!(replay.value_for(Some(0)), None);
    assert_eq!(replay.value_for(None), None);
    assert_eq!(replay.value_for(Some(1)), Some(30));
}

#[test]
fn a_plan_that_is_cut_off_is_none() {
    let whole = plan();
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_none(), "{length} words");
    }
    let mut other = whole;
    other[0] += 1;
    assert!(read(&other).is_none(), "the first word is another one");
}
