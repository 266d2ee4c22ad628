//! Atomic accesses. In free-running mode they are done under the world's lock, so that their order
//! is exact.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

use foretrace_recording::record::kind;
use foretrace_recording::site::{Site, rmw};

use crate::thread::hook;
use crate::world::hold;

macro_rules! atomics {
    ($(
        $load:ident, $store:ident, $rmw:ident, $cas:ident, $type:ty, $signed:ty, $atomic:ty;
    )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $load(site: *const Site, address: *mut $type, order: u32) -> $type {
            // SAFETY: the plugin puts this in the place of an atomic access of the program, to an
            // address that is aligned (others it leaves alone). Plain accesses of the program that
            // race with it go through hooks, and are its own.
            let cell = unsafe { <$atomic>::from_ptr(address) };
            let done = hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::ATOMIC_LOAD, site, address as u64, size_of::<$type>() as u64);
                let mut world = hold();
                let value = cell.load(SeqCst);
                let detail = size_of::<$type>() as u8 | (order as u8) << 4;
                let words = [address as u64, u64::from(value)];
                world.stamped(thread, kind::ATOMIC_LOAD, detail, site, words);
                drop(world);
                thread.saw(address as u64, u64::from(value));
                value
            });
            done.unwrap_or_else(|| cell.load(SeqCst))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $store(
            site: *const Site,
            address: *mut $type,
            value: $type,
            order: u32,
        ) {
            // SAFETY: the plugin puts this in the place of an atomic access of the program, to an
            // address that is aligned (others it leaves alone). Plain accesses of the program that
            // race with it go through hooks, and are its own.
            let cell = unsafe { <$atomic>::from_ptr(address) };
            hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::ATOMIC_STORE, site, address as u64, size_of::<$type>() as u64);
                let mut world = hold();
                cell.store(value, SeqCst);
                let detail = size_of::<$type>() as u8 | (order as u8) << 4;
                let words = [address as u64, u64::from(value)];
                world.stamped(thread, kind::ATOMIC_STORE, detail, site, words);
            })
            .unwrap_or_else(|| cell.store(value, SeqCst));
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $rmw(
            site: *const Site,
            address: *mut $type,
            operand: $type,
            operation: u32,
            order: u32,
        ) -> $type {
            // SAFETY: the plugin puts this in the place of an atomic access of the program, to an
            // address that is aligned (others it leaves alone). Plain accesses of the program that
            // race with it go through hooks, and are its own.
            let cell = unsafe { <$atomic>::from_ptr(address) };
            let change = |old: $type| match operation {
                rmw::EXCHANGE => operand,
                rmw::ADD => old.wrapping_add(operand),
                rmw::SUB => old.wrapping_sub(operand),
                rmw::AND => old & operand,
                rmw::NAND => !(old & operand),
                rmw::OR => old | operand,
                rmw::XOR => old ^ operand,
                rmw::MAX => (old as $signed).max(operand as $signed) as $type,
                rmw::MIN => (old as $signed).min(operand as $signed) as $type,
                rmw::UMAX => old.max(operand),
                _ => old.min(operand),
            };
            let perform = || {
                let updated = cell.fetch_update(SeqCst, SeqCst, |old| Some(change(old)));
                updated.unwrap_or_else(|old| old)
            };
            let done = hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::RMW, site, address as u64, size_of::<$type>() as u64);
                let mut world = hold();
                let old = perform();
                let detail = size_of::<$type>() as u8 | (order as u8) << 4;
                let values = [address as u64, u64::from(old), u64::from(change(old))];
                world.stamped(thread, kind::RMW, detail, site, values);
                drop(world);
                if change(old) == old {
                    thread.saw(address as u64, u64::from(old));
                }
                old
            });
            done.unwrap_or_else(perform)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $cas(
            site: *const Site,
            address: *mut $type,
            expected: $type,
            desired: $type,
            success: u32,
            failure: u32,
        ) -> $type {
            // SAFETY: the plugin puts this in the place of an atomic access of the program, to an
            // address that is aligned (others it leaves alone). Plain accesses of the program that
            // race with it go through hooks, and are its own.
            let cell = unsafe { <$atomic>::from_ptr(address) };
            let perform = || {
                let exchanged = cell.compare_exchange(expected, desired, SeqCst, SeqCst);
                exchanged.unwrap_or_else(|old| old)
            };
            let done = hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::RMW, site, address as u64, size_of::<$type>() as u64);
                let mut world = hold();
                let old = perform();
                let size = size_of::<$type>() as u8;
                if old == expected {
                    let values = [address as u64, u64::from(old), u64::from(desired)];
                    world.stamped(thread, kind::RMW, size | (success as u8) << 4, site, values);
                } else {
                    let detail = size | (failure as u8) << 4;
                    let words = [address as u64, u64::from(old)];
                    world.stamped(thread, kind::ATOMIC_LOAD, detail, site, words);
                    drop(world);
                    thread.saw(address as u64, u64::from(old));
                }
                old
            });
            done.unwrap_or_else(perform)
        }
    )* };
}

atomics! {
    __ft_atomic_load1, __ft_atomic_store1, __ft_atomic_rmw1, __ft_atomic_cas1, u8, i8, AtomicU8;
    __ft_atomic_load2, __ft_atomic_store2, __ft_atomic_rmw2, __ft_atomic_cas2, u16, i16, AtomicU16;
    __ft_atomic_load4, __ft_atomic_store4, __ft_atomic_rmw4, __ft_atomic_cas4, u32, i32, AtomicU32;
    __ft_atomic_load8, __ft_atomic_store8, __ft_atomic_rmw8, __ft_atomic_cas8, u64, i64, AtomicU64;
}
