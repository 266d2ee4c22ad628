//! Plain loads and stores of 1, 2, 4 and 8 bytes.

use foretrace_recording::record::kind;
use foretrace_recording::site::Site;

use crate::thread::{hook, refused};

macro_rules! accesses {
    ($($load:ident, $store:ident, $type:ty;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $load(site: *const Site, address: *const $type) -> $type {
            let done = hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::LOAD, site, address as u64, size_of::<$type>() as u64);
                // SAFETY: the plugin puts this in the place of a load of the program from this
                // address: it is the program's own access, be it right or wrong.
                let value = unsafe { address.read_unaligned() };
                let detail = size_of::<$type>() as u8;
                thread.access(kind::LOAD, detail, site, address as u64, u64::from(value));
                value
            });
            done.unwrap_or_else(|| {
                refused();
                // SAFETY: as above.
                unsafe { address.read_unaligned() }
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $store(site: *const Site, address: *mut $type, value: $type) {
            hook(|thread| {
                let site = thread.site(site);
                thread.point(kind::STORE, site, address as u64, size_of::<$type>() as u64);
                let detail = size_of::<$type>() as u8;
                thread.access(kind::STORE, detail, site, address as u64, u64::from(value));
                // SAFETY: the plugin puts this in the place of a store of the program to this
                // address: it is the program's own access, be it right or wrong.
                unsafe { address.write_unaligned(value) };
            })
            .unwrap_or_else(|| {
                refused();
                // SAFETY: as above.
                unsafe { address.write_unaligned(value) }
            });
        }
    )* };
}

accesses! {
    __ft_load1, __ft_store1, u8;
    __ft_load2, __ft_store2, u16;
    __ft_load4, __ft_store4, u32;
    __ft_load8, __ft_store8, u64;
}
