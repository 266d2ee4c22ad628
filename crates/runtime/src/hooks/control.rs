//! Branches, calls, fences.

use std::ffi::{c_char, c_void};

use foretrace_recording::library::{self, Effect};
use foretrace_recording::record::{kind, readers, unseen};
use foretrace_recording::site::{SYSTEM, Site};

use super::strings;
use crate::config;
use crate::interpose::{signals, streams};
use crate::kernel::calls;
use crate::kernel::system_files::is_about_process;
use crate::kernel::uses::Uses;
use crate::schedule;
use crate::thread::{Thread, enter, enter_recording, hook, hook_recording, lost_way};
use crate::world::hold;

/// Records that say which way the program went.
///
/// Code that interrupts the runtime (signal handlers) leaves no record from its beginning to its
/// end, so what it interrupted stays as it is; but what the handler did is missing, and that is
/// noted.
#[inline(always)]
fn follow(record: impl FnOnce(&mut Thread)) {
    if config::keeps_control_flow() && enter_recording(record).is_none() {
        lost_way();
    }
}

/// A function begins.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_enter(function: *const c_void) {
    if config::mode() == config::Mode::Free {
        enter(calls::called_back);
    }
    follow(|thread| {
        // If it is a signal handler, its outcomes must not be taken for those of what it
        // interrupts.
        if signals::interrupt() {
            thread.end_path();
        }
        thread.record(kind::ENTER, 0, function as u64, []);
    });
}

/// A branch goes one way.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_path(taken: u32) {
    if !config::keeps_control_flow() {
        std::hint::cold_path();
        hook(|_| ());
    } else if hook_recording(|thread| thread.outcome(taken & 1 != 0)).is_none() {
        lost_way();
    }
}

/// An exception was caught, or is cleaned up behind.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_land(site: *const Site, function: *const c_void, block: u64) {
    enter(|thread| {
        if !thread.calls.is_empty() {
            calls::landed(thread);
        }
    });
    follow(|thread| {
        thread.record(kind::LAND, 0, site as u64, [function as u64, block]);
    });
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_switch(site: *const Site, value: u64) {
    follow(|thread| thread.record(kind::SWITCH, 0, site as u64, [value]));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_fence(site: *const Site, order: u32) {
    enter(|thread| {
        let site = thread.site(site);
        thread.point(kind::FENCE, site, 0, 0);
        thread.record(kind::FENCE, order as u8, site, []);
    });
}

/// Code that we do not see through has just run, and may have touched any memory.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_unseen(site: *const Site, what: u32) {
    enter(|thread| {
        let site = thread.site(site);
        let mut world = hold();
        world.kernel.look_anew();
        world.stamped(thread, kind::UNSEEN, what as u8, site, []);
    });
}

/// The thread waits for another one, as `pause` says.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_pause() {
    hook(schedule::give_way);
    std::hint::spin_loop();
}

/// The user's code calls into code that is not his: what happens there happens here.
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_at(site: *const Site) {
    enter(|thread| thread.call_site = site as u64);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_call(site: *const Site, target: *const c_void) {
    let recorded = enter(|thread| leave(thread, site, target as u64, 0));
    if recorded.is_none() && config::keeps_control_flow() {
        lost_way();
    }
}

/// A call of a function that uses channels, or that nothing is known of. `code`: see
/// [`library::code`].
#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_call_on(
    site: *const Site,
    target: *const c_void,
    code: u32,
    stream: u64,
) {
    let recorded = enter(|thread| {
        let target = target as u64;
        let effect = library::decode(code);
        thread.touches_memory = false;
        leave(thread, site, target, readers(effect, stream));
        if effect == Some(Effect::Hidden(library::CHILDREN_LIST)) {
            crate::log::flag(foretrace_recording::file::flags::WAITS_END);
            hold().kernel.objects.forked = true;
        }
        if effect == Some(Effect::None) || (effect.is_none() && thread.is_instrumented(target)) {
            return;
        }
        if effect.is_none() && hold().kernel.is_silent(target) {
            thread.touches_memory = hold().kernel.touches_memory(target);
            if hold().kernel.reads_text(target) && stream != 0 {
                // SAFETY: the program gives the address to a function that reads a text there.
                unsafe { strings::look_at_text(thread, site, stream as *const c_char) };
            }
            return;
        }
        look_elsewhere(thread, site, effect, stream);
        streams::wait_until_free(thread, effect, stream);
        let uses = || uses(effect, stream);
        calls::begin_library(thread, site as u64, target, uses);
    });
    if recorded.is_none() && config::keeps_control_flow() {
        lost_way();
    }
}

/// Before a call that may find what other threads have in memory, or that uses a buffer of the
/// program.
fn look_elsewhere(thread: &mut Thread, site: *const Site, effect: Option<Effect>, stream: u64) {
    let what = match effect {
        Some(Effect::Named { .. }) if is_about_process(stream as *const c_char) => {
            Some(unseen::LOOKED)
        }
        Some(Effect::Stream { output, .. }) => {
            streams::hand_over_buffers(thread, site as u64, stream);
            let is_mapped = || hold().kernel.is_mapped(streams::descriptor_of(stream as *mut _));
            (!output && stream != 0 && is_mapped()).then_some(unseen::MAPPED_FILE)
        }
        Some(Effect::Hidden(library::SHARED_ENVIRONMENT_LIST)) => {
            hold().kernel.shares_environment = true;
            None
        }
        Some(Effect::Hidden(list)) if library::ENVIRONMENT_LISTS.contains(&list) => {
            hold().kernel.shares_environment.then_some(unseen::LOOKED)
        }
        _ => None,
    };
    if let Some(what) = what {
        hold().stamped(thread, kind::UNSEEN, what, site as u64, []);
    }
}

/// The channels of a function of which this is known.
fn uses(effect: Option<Effect>, stream: u64) -> Uses {
    match effect {
        Some(Effect::Hidden(library::EXCEPTIONS_LIST)) => {
            hold().kernel.shares_exceptions = true;
            Uses::every()
        }
        Some(Effect::Hidden(library::END_OF_HANDLER_LIST)) => {
            if hold().kernel.shares_exceptions {
                Uses::every()
            } else {
                Uses::default()
            }
        }
        Some(Effect::Hidden(list)) => Uses::of(library::HIDDEN[list as usize]),
        Some(Effect::Named { list, .. }) => {
            let name = stream as *const c_char;
            if is_about_process(name) {
                return Uses::every();
            }
            let mut uses = Uses::of(library::HIDDEN[list as usize]);
            uses.join(&hold().kernel.named_file(name, list != 5));
            uses
        }
        Some(Effect::Stream { output, .. }) => streams::uses(stream, output),
        Some(Effect::Descriptor) => streams::output(stream as i32),
        Some(Effect::Asks { number: true }) => hold().kernel.of_number(stream as i32),
        Some(Effect::Asks { number: false }) => hold().kernel.question(stream as i32),
        Some(Effect::Queue) => {
            let mut uses = Uses::of(library::HIDDEN[library::QUEUES_LIST as usize]);
            uses.join(&hold().kernel.both(stream as i32));
            uses
        }
        Some(Effect::Standard { error }) => streams::standard(error),
        Some(Effect::Cxx) => streams::of_cxx(stream),
        Some(Effect::None) | None => Uses::every(),
    }
}

/// Who may read what a function prints, see [`readers`](foretrace_recording::record::readers).
fn readers(effect: Option<Effect>, stream: u64) -> u8 {
    let prints = matches!(
        effect,
        Some(Effect::Stream { output: true, .. } | Effect::Standard { .. } | Effect::Descriptor)
    );
    if !prints || !config::keeps_control_flow() {
        return 0;
    }
    hold().kernel.look_anew();
    let uses = uses(effect, stream);
    match () {
        () if uses.is_inside() => readers::INSIDE,
        () if !uses.is_empty() => readers::OUTSIDE,
        () => 0,
    }
}

fn leave(thread: &mut Thread, site: *const Site, target: u64, readers: u8) {
    // SAFETY: the plugin gives the address of a site in the tables of the module whose code runs.
    let system = unsafe { (*site).column } & SYSTEM != 0;
    if !system || thread.call_site == 0 {
        thread.call_site = site as u64;
    }
    thread.callee = target;
    if config::keeps_control_flow() {
        thread.record(kind::CALL, readers, site as u64, [target]);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __ft_return(site: *const Site, value: u64) {
    let recorded = enter(|thread| {
        if !thread.calls.is_empty() {
            calls::end_library(thread, site as u64);
        }
        if config::keeps_control_flow() {
            thread.record(kind::RETURN, 0, site as u64, [value]);
        }
    });
    if recorded.is_none() && config::keeps_control_flow() {
        lost_way();
    }
}
