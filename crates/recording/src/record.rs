//! Records: what one thread did, in 64-bit words.
//!
//! The first word is `kind | detail << 8 | site << 16`; a site of 0 is unknown. The operands
//! follow. The writer stores the first word last, so that a recording that ends abruptly ends
//! with a 0 and never with half a record.
//!
//! Every record that is [`visible`] is a point at which the scheduler may hand over, and counts in
//! its thread's **ordinals** (from 0): the n-th visible record of a thread is its operation n, in
//! the recording and in every replay. From [`kind::BEGIN`] on records carry as their last word the
//! **stamp**: a number from one counter for all threads, in the order in which they took effect.

/// The first word.
pub const fn head(kind: u8, detail: u8, site: u64) -> u64 {
    kind as u64 | (detail as u64) << 8 | site << 16
}

/// The kind of record, in the lowest byte.
pub mod kind {
    /// No record: the stream ends here.
    pub const END_OF_STREAM: u8 = 0;
    /// The records that follow are of another thread (scheduled recordings only). Operand: thread.
    pub const THREAD: u8 = 1;
    /// A switch. Operand: the value.
    pub const SWITCH: u8 = 3;
    /// A call of a function that this module does not define. Operand: its address.
    pub const CALL: u8 = 4;
    /// It came back. Operand: what it returned, 0 if that is no scalar.
    pub const RETURN: u8 = 5;
    /// An instrumented function begins. Its address is where the site would be.
    pub const ENTER: u8 = 6;
    /// Outcomes of branches. Detail: how many, at most [`super::PATH_OUTCOMES`]; where the site
    /// would be, a bit for each, the first lowest.
    pub const PATH: u8 = 7;

    /// A plain load. Detail: size (1, 2, 4 or 8; ranges also 3, 5, 6, 7). Operands: address, value.
    pub const LOAD: u8 = 8;
    /// A plain store. Likewise.
    pub const STORE: u8 = 9;
    /// A load of more than 64 bytes at once. Operands: address, length, then the bytes, padded to
    /// words.
    pub const LOAD_RANGE: u8 = 10;
    /// A store of more than 64 bytes at once. Likewise.
    pub const STORE_RANGE: u8 = 11;
    /// A fence. Detail: memory order.
    pub const FENCE: u8 = 12;
    /// A block begins that the programmer means to be atomic.
    pub const REGION_BEGIN: u8 = 13;
    /// It ends.
    pub const REGION_END: u8 = 14;
    /// An assertion. Detail: 1 if it held.
    pub const ASSERT: u8 = 15;

    /// A plain load whose site was at a [`super::near`] address shortly before; the value is in the
    /// first word.
    pub const LOAD_NEAR: u8 = 16;
    /// A plain store, likewise.
    pub const STORE_NEAR: u8 = 17;
    /// The same, where the value needs more than 32 bits. Operand: the value.
    pub const LOAD_NEAR_WIDE: u8 = 18;
    /// A plain store, likewise.
    pub const STORE_NEAR_WIDE: u8 = 19;
    /// An exception brought the thread here. Operands: address of the function, number of the block
    /// in its image.
    pub const LAND: u8 = 20;

    /// The thread runs. Operands: lowest address of its stack, its highest; stamp.
    pub const BEGIN: u8 = 32;
    /// It is at its end. Stamp.
    pub const END: u8 = 33;
    /// Creates a thread. Operands: thread; stamp.
    pub const FORK: u8 = 34;
    /// Waited for a thread's end. Operands: thread; stamp.
    pub const JOIN: u8 = 35;
    /// About to join. Operands: thread; stamp.
    pub const REQUEST_JOIN: u8 = 36;
    /// The process ends. Operands: status; stamp. Nothing of this process follows.
    pub const EXIT: u8 = 37;

    /// An atomic load. Detail: size | memory order << 4. Operands: address, value; stamp.
    pub const ATOMIC_LOAD: u8 = 40;
    /// An atomic store. Likewise.
    pub const ATOMIC_STORE: u8 = 41;
    /// A read-modify-write. Likewise, with the operands address, old value, new value; stamp.
    pub const RMW: u8 = 42;

    /// A lock is made. Detail: [`super::lock`]. Operands: address; stamp.
    pub const LOCK_INIT: u8 = 48;
    /// About to acquire it, and it is taken. Detail: [`super::acquire`]. Operands: address; stamp.
    pub const REQUEST_ACQUIRE: u8 = 49;
    /// Acquired. Detail: [`super::acquire`]. Operands: address; stamp.
    pub const ACQUIRE: u8 = 50;
    /// Not acquired (try, timed; a mutex that is lost for good). Detail: [`super::acquire`].
    /// Operands: address; stamp.
    pub const ACQUIRE_FAILED: u8 = 51;
    /// Released once. Detail: [`super::release`]. Operands: address; stamp.
    pub const RELEASE: u8 = 52;
    /// Destroyed. Operands: address; stamp.
    pub const LOCK_DESTROY: u8 = 53;

    /// A condition variable is made. Operands: address; stamp.
    pub const COND_INIT: u8 = 56;
    /// First half of a wait. Detail: 1 if timed. Operands: condition variable, lock; stamp.
    pub const WAIT: u8 = 57;
    /// Second half. Detail: 0 notified, 1 timed out, 2 spurious. Operands: condition variable,
    /// lock; stamp.
    pub const WAKE: u8 = 58;
    /// Operands: address; stamp.
    pub const SIGNAL: u8 = 59;
    /// Operands: address; stamp.
    pub const BROADCAST: u8 = 60;
    /// Operands: address; stamp.
    pub const COND_DESTROY: u8 = 61;

    /// A semaphore is made. Operands: address, count; stamp.
    pub const SEM_INIT: u8 = 64;
    /// About to wait, and the count is 0. Operands: address; stamp.
    pub const REQUEST_SEM_WAIT: u8 = 65;
    /// Decremented. Detail: 0 blocking, 1 timed, 2 try. Operands: address; stamp.
    pub const SEM_WAIT: u8 = 66;
    /// Found 0 (try, timed). Likewise.
    pub const SEM_WAIT_FAILED: u8 = 67;
    /// Operands: address; stamp.
    pub const SEM_POST: u8 = 68;
    /// Operands: address; stamp.
    pub const SEM_DESTROY: u8 = 69;

    /// A barrier is made. Operands: address, parties; stamp.
    pub const BARRIER_INIT: u8 = 72;
    /// Operands: address; stamp.
    pub const ARRIVE: u8 = 73;
    /// Operands: address; stamp.
    pub const LEAVE: u8 = 74;
    /// Operands: address; stamp.
    pub const BARRIER_DESTROY: u8 = 75;

    /// Memory comes to life. Detail: `alloc`. Operands: address, size; stamp.
    pub const ALLOC: u8 = 80;
    /// It is given back. Detail: `free`. Operands: address; stamp.
    pub const FREE: u8 = 81;

    /// A call begins by which threads may see each other other than through memory. Detail:
    /// [`super::stream`]. Operands: its channels, the number of a [`crate::file::table::CHANNELS`];
    /// how many bytes it wants to read or write, if it is on a stream, what it adds to a counter,
    /// else the address of the function, 0 if that is known; stamp.
    pub const ENTER_CALL: u8 = 88;
    /// The innermost such call of the thread came back. Operands: what it returned, if it is on a
    /// stream, or took from a counter; stamp.
    pub const LEAVE_CALL: u8 = 89;
    /// Something was done that nobody saw. Detail: [`super::unseen`]. Stamp.
    pub const UNSEEN: u8 = 112;
    /// An address was given to code that is not instrumented. Detail: [`super::handed`]. Operands:
    /// address; stamp.
    pub const HANDED: u8 = 113;
}

/// What a [`kind::LOCK_INIT`] makes.
pub mod lock {
    #![allow(missing_docs)]
    pub const PLAIN: u8 = 0;
    pub const RECURSIVE: u8 = 1;
    pub const ERROR_CHECKING: u8 = 2;
    pub const READER_WRITER: u8 = 3;
    pub const SPIN: u8 = 4;
}

/// The detail of a [`kind::UNSEEN`].
pub mod unseen {
    /// Inline assembly that is not understood and may touch memory.
    pub const ASSEMBLY: u8 = 0;
    /// An atomic operation of more than 8 bytes.
    pub const WIDE_ATOMIC: u8 = 1;
    /// A signal handler interrupted a wait.
    pub const INTERRUPTION: u8 = 2;
    /// A read from a file that the process can also change in memory.
    pub const MAPPED_FILE: u8 = 3;
    /// Code of which nothing is known calls a function of the program. (In free-running recordings
    /// only.)
    pub const CALLED_BACK: u8 = 4;
    /// The process was copied, with all that other threads have written so far. It matters if the
    /// copy stays one, see [`crate::file::has_copies`].
    pub const COPIED: u8 = 5;
    /// A function looked at memory, or at what the kernel knows of it, in ways of its own.
    pub const LOOKED: u8 = 6;
    /// All other threads may notice what the thread does here, and it what they did, in ways of
    /// their own.
    pub const NOTICED: u8 = 7;
}

/// The detail of a [`kind::HANDED`]: what the code may have done with the memory there.
pub mod handed {
    /// Read and written it. Its call keeps its order with all others.
    pub const UNKNOWN: u8 = 0;
    /// Read and written it.
    pub const UNDESCRIBED: u8 = 1;
    /// Written it.
    pub const WRITTEN: u8 = 2;
}

/// The detail of a [`kind::FREE`].
pub mod free {
    /// What the block holds goes to the next one that the thread gets.
    pub const MOVES: u8 = 1;
}

/// The detail of calls of functions that print: who may read it.
pub mod readers {
    /// The process itself.
    pub const INSIDE: u8 = 1;
    /// Only others, who may answer.
    pub const OUTSIDE: u8 = 2;
}

/// The detail of allocations.
pub mod alloc {
    /// All bytes are 0.
    pub const ZERO: u8 = 1;
    /// Pages of a file that the process can change otherwise too.
    pub const SHARED: u8 = 2;
    /// Pages without a file that children share.
    pub const INHERITED: u8 = 3;
    /// It holds what the block held that the thread has just given back.
    pub const MOVED: u8 = 4;
}

/// The detail of calls on a stream of bytes inside the process: a pipe, or a connection to itself.
/// Of the others it is 0.
pub mod stream {
    /// Reads.
    pub const READ: u8 = 1;
    /// Writes.
    pub const WRITE: u8 = 2;
    /// What one end writes and the other one reads, not the other way round.
    pub const BACK: u8 = 4;
    /// Neither: whatever it does, no bytes go into a stream or come out of one. (Of calls with the
    /// detail 0 that is not known.)
    pub const QUIET: u8 = 8;
    /// It cancels a thread, whose number is the second operand: the thread keeps its place before
    /// the call or behind it.
    pub const CANCELS: u8 = 16;
    /// It reads, and waits without a time limit until something is there. With [`QUIET`]: it
    /// changes whether reads do so.
    pub const WAITS: u8 = 32;
    /// It looks whether something is there to read, in each of the streams and counters of the list
    /// whose number is the second operand: of a stream with `TAKES` in the one direction, with
    /// `GIVES` in the other, see [`BACK`]. With [`WAITS`] it waits until there is.
    pub const LOOKS: u8 = QUIET | READ;
    /// With [`QUIET`]: it connects a socket, from which nobody can read before.
    pub const CONNECTS: u8 = 128;
    /// No stream but a counter that was 0 at first: a write adds its second operand to it, and a
    /// read takes what it returns.
    pub const COUNTER: u8 = 64;
}

/// The detail of acquires: `mode | patience << 1`.
pub mod acquire {
    #![allow(missing_docs)]
    pub const EXCLUSIVE: u8 = 0;
    pub const SHARED: u8 = 1;
    pub const BLOCKING: u8 = 0;
    pub const TIMED: u8 = 1 << 1;
    pub const TRY: u8 = 2 << 1;
    /// The owner of a robust mutex ended, and the next one gave it back without making it
    /// consistent.
    pub const NOT_RECOVERABLE: u8 = 1 << 3;
}

/// The detail of releases.
pub mod release {
    /// Of a shared hold.
    pub const SHARED: u8 = 1;
    /// The lock refused, and is as it was.
    pub const REFUSED: u8 = 1 << 1;
    /// The owner of a robust mutex ends.
    pub const OWNER_DIED: u8 = 1 << 2;
}

/// Whether records of the kind are visible operations, and have ordinals. Not so what depends on
/// the schedule (a request is recorded only if the thread has to wait) or comes from inside
/// libraries (allocations).
pub const fn visible(kind: u8) -> bool {
    use kind::*;
    !matches!(
        kind,
        END_OF_STREAM
            ..=PATH
                | LAND
                | REQUEST_JOIN
                | REQUEST_ACQUIRE
                | REQUEST_SEM_WAIT
                | EXIT
                | LOCK_INIT
                | COND_INIT
                | COND_DESTROY
                | SEM_INIT
                | SEM_DESTROY
                | BARRIER_INIT
                | BARRIER_DESTROY
                | ALLOC
                | FREE
                | LEAVE_CALL
                | UNSEEN
                | HANDED
    )
}

/// Whether records of the kind end with a stamp.
pub const fn stamped(kind: u8) -> bool {
    kind >= kind::BEGIN
}

/// How many words follow the first one (without the bytes of a range); `None` for an unknown kind.
pub const fn operands(kind: u8) -> Option<usize> {
    use kind::*;
    Some(match kind {
        ENTER | PATH | FENCE | REGION_BEGIN | REGION_END | ASSERT => 0,
        LOAD_NEAR | STORE_NEAR => 0,
        THREAD | SWITCH | CALL | RETURN | END | UNSEEN | LOAD_NEAR_WIDE | STORE_NEAR_WIDE => 1,
        LOAD | STORE | LOAD_RANGE | STORE_RANGE | LAND => 2,
        FORK | JOIN | REQUEST_JOIN | EXIT | LEAVE_CALL => 2,
        LOCK_INIT..=LOCK_DESTROY | COND_INIT | SIGNAL..=COND_DESTROY => 2,
        REQUEST_SEM_WAIT..=SEM_DESTROY | ARRIVE..=BARRIER_DESTROY | FREE | HANDED => 2,
        BEGIN | ATOMIC_LOAD | ATOMIC_STORE | WAIT | WAKE | SEM_INIT | BARRIER_INIT | ALLOC => 3,
        ENTER_CALL => 3,
        RMW => 4,
        _ => return None,
    })
}

/// Most accesses come from a few sites, and each site moves in small steps. Both ends of a stream
/// keep a table of sites with the address that each was at last; an access near it is one word, or
/// two.
pub mod near {
    use super::kind;

    /// The sites of a stream, by [`slot`], each with its last address.
    pub type Table = [(u64, u64); 256];

    /// Where a site is in the table.
    #[inline(always)]
    pub const fn slot(site: u64) -> usize {
        ((site >> 4) ^ (site >> 12)) as usize & 255
    }

    /// The first word of a near record, if the access is near: 8 bits of kind, 2 of size, 8 of
    /// slot, 14 of distance, 32 of value. The table is brought up to date in any case.
    #[inline(always)]
    pub fn encode(
        table: &mut Table,
        load: bool,
        size: u8,
        site: u64,
        address: u64,
        value: u64,
    ) -> Option<u64> {
        let slot = slot(site);
        let last = std::mem::replace(&mut table[slot], (site, address));
        let distance = address.wrapping_sub(last.1).wrapping_add(1 << 13);
        if last.0 != site || distance >= 1 << 14 || !size.is_power_of_two() {
            return None;
        }
        let wide = value > u64::from(u32::MAX);
        let kind = kind::LOAD_NEAR + u8::from(!load) + 2 * u8::from(wide);
        let value = if wide { 0 } else { value << 32 };
        Some(
            u64::from(kind)
                | u64::from(size.trailing_zeros()) << 8
                | (slot as u64) << 10
                | distance << 18
                | value,
        )
    }

    /// Kind, size, site, address and value of a near record; the value of a wide one is in the next
    /// word.
    #[inline]
    pub fn decode(table: &mut Table, head: u64) -> (u8, u8, u64, u64, u64) {
        let kind = if (head as u8) & 1 == 0 { kind::LOAD } else { kind::STORE };
        let size = 1 << ((head >> 8) & 3);
        let entry = &mut table[(head >> 10) as usize & 255];
        let distance = (head >> 18) & ((1 << 14) - 1);
        entry.1 = entry.1.wrapping_add(distance).wrapping_sub(1 << 13);
        (kind, size, entry.0, entry.1, head >> 32)
    }

    #[cfg(test)]
    mod tests {
        use foretrace_testing::Random;

        use super::*;

        #[test]
        fn what_is_near_comes_back() {
            let (mut out, mut back): (Table, Table) = ([(0, 0); 256], [(0, 0); 256]);
            let sites = [0x5555_5555_6020u64, 0x5555_5555_6030, 0x7fff_f7f7_1210, 0x5555_5556_6120];
            let (mut near, mut random) = (0, Random::new(7));
            for step in 0..10_000u64 {
                let site = random.pick(&sites);
                let address = 0x7fff_0000_0000 + random.below_u64(20_000);
                let (load, size) = (step % 3 == 0, random.pick(&[1, 2, 4, 8, 3]));
                let value = if step % 5 == 0 { u64::MAX - step } else { step };
                match encode(&mut out, load, size, site, address, value) {
                    None => back[slot(site)] = (site, address),
                    Some(head) => {
                        near += 1;
                        let (kind, size_back, site_back, address_back, low) =
                            decode(&mut back, head);
                        assert_eq!(
                            (kind == kind::LOAD, size_back, site_back, address_back),
                            (load, size, site, address)
                        );
                        let wide = (head as u8) >= kind::LOAD_NEAR_WIDE;
                        assert_eq!(if wide { value } else { low }, value);
                    }
                }
            }
            assert!(near > 3_000, "{near}");
        }
    }
}

/// How many outcomes a [`kind::PATH`] record has room for.
pub const PATH_OUTCOMES: u32 = 48;

/// A [`kind::PATH`] record with one more outcome. It must have room for it.
#[inline(always)]
pub const fn with_outcome(path: u64, taken: bool) -> u64 {
    let count = (path >> 8) & 0xff;
    (path + (1 << 8)) | (taken as u64) << (16 + (count & 63))
}

/// Whether a [`kind::PATH`] record has no room for another outcome.
#[inline(always)]
pub const fn is_full(path: u64) -> bool {
    (path >> 8) as u8 as u32 >= PATH_OUTCOMES
}

/// The longest load or store that is recorded piece by piece, each piece a visible operation of at
/// most 8 bytes; a longer one is one operation.
pub const PIECEWISE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_fill_a_record_from_the_lowest_bit_on() {
        let mut path = head(kind::PATH, 0, 0);
        let taken = |index: u32| index % 3 == 1 || index == PATH_OUTCOMES - 1;
        for index in 0..PATH_OUTCOMES {
            assert!(!is_full(path), "{index}");
            path = with_outcome(path, taken(index));
        }
        assert!(is_full(path));
        assert_eq!((path as u8, (path >> 8) as u8), (kind::PATH, PATH_OUTCOMES as u8));
        for index in 0..PATH_OUTCOMES {
            assert_eq!(path >> (16 + index) & 1 == 1, taken(index), "{index}");
        }
    }
}
