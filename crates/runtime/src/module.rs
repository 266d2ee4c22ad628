//! Start-up: reads the environment, and takes the tables of the compiled modules.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use foretrace_recording::file::{LONGEST_CONSTANT, LONGEST_GLOBAL, mode as modes, table};
use foretrace_recording::record::kind;
use foretrace_recording::site::{ABI, Constant, Function, Global, Module, Site};

use crate::config::{Mode, mode, number, set_mode, variable};
use crate::futex::{Guarded, system_call};
use crate::inputs::Inputs;
use crate::message;
use crate::replay::Replay;
use crate::schedule::{Scheduler, Strategy};
use crate::thread::{self, Thread};
use crate::world::{self, World, hold};
use crate::{config, explore, interpose, log};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs before the constructors of the program.
extern "C" fn start() {
    if mode() != Mode::Unset {
        return;
    }
    if let Some(path) = variable(c"FORETRACE_EXPLORE") {
        return explore(path);
    }
    let Some(path) = variable(c"FORETRACE_RECORDING") else { return set_mode(Mode::Off) };
    if number(c"FORETRACE_ABI").is_some_and(|command| command != u64::from(ABI)) {
        message::say(
            "the command and the runtime library are of different builds: build or install both \
             again (`cargo xtask build`)",
        );
        message::leave(125);
    }
    let seed = number(c"FORETRACE_SEED").unwrap_or(1);
    let plan = variable(c"FORETRACE_PLAN");
    let (code, strategy) = match variable(c"FORETRACE_SCHEDULE").unwrap_or(b"random") {
        _ if plan.is_some() => (modes::REPLAY, Some(Strategy::Replay)),
        b"free" => (modes::FREE, None),
        b"pct" => (modes::PCT, Some(Strategy::Pct)),
        b"round-robin" => (modes::ROUND_ROBIN, Some(Strategy::RoundRobin)),
        _ => (modes::RANDOM, Some(Strategy::Random)),
    };
    // A plan is for the first process; what that one starts runs as it likes.
    if plan.is_some() && log::exists(path) {
        return set_mode(Mode::Off);
    }
    let replay = match plan.map(read_plan) {
        Some(None) => {
            message::say("the plan of the replay cannot be read");
            message::leave(125);
        }
        Some(plan) => plan.map(Box::new),
        None => None,
    };
    if !log::create(path, code, seed, number(c"FORETRACE_LIMIT")) {
        message::say(&format!("cannot write the recording {}", String::from_utf8_lossy(path)));
        message::leave(125);
    }
    set_mode(if strategy.is_some() { Mode::Scheduled } else { Mode::Free });
    // A replay looks at operations only.
    let keeps = code != modes::REPLAY && number(c"FORETRACE_CONTROL_FLOW") != Some(0);
    config::keep_control_flow(keeps);
    if replay.as_ref().is_some_and(|replay| replay.awaits_failure()) {
        interpose::signals::watch_traps();
    }
    let inputs = if replay.is_some() { read_inputs() } else { None };
    let start = inputs.as_ref().map(|inputs| inputs.start).filter(|start| start[0] != 0);
    world::create(Scheduler::new(strategy.unwrap_or(Strategy::Random), seed), replay, inputs);
    if strategy.is_some() {
        interpose::clocks::begin(start);
    }
    main_begins();
}

/// Runs as somebody else chooses.
fn explore(path: &[u8]) {
    let path = [path, &[0]].concat();
    let Ok(path) = std::ffi::CStr::from_bytes_with_nul(&path) else { return set_mode(Mode::Off) };
    explore::serve(path);
    set_mode(Mode::Scheduled);
    config::keep_control_flow(true);
    world::create(Scheduler::new(Strategy::Explore, 1), None, None);
    interpose::clocks::begin(None);
    main_begins();
}

/// The process has its first thread.
fn main_begins() {
    interpose::memory::one_heap_for_each_thread();
    let mut world = hold();
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    world.tables.table(table::COMMAND, &[&command]);
    let main = world.add_thread(None);
    let World { inputs, kernel, tables, .. } = &mut *world;
    if let Some(inputs) = inputs {
        interpose::signals::expect_recorded(inputs);
        // What it does to itself must really happen, also before it is known to.
        kernel.objects.talks_to_itself = inputs.talks_to_itself;
        kernel.objects.children_again = inputs.children_again;
        if let Some(recording) = variable(c"FORETRACE_RECORDING") {
            crate::kernel::files::begin(inputs, recording);
        }
    }
    interpose::numbers::begin(inputs.as_deref_mut());
    let descriptors = kernel.begin(inputs.as_ref().map(|inputs| inputs.descriptors));
    let [wall, monotonic] = interpose::clocks::start();
    let words = [wall as u64, monotonic as u64, descriptors].map(u64::to_le_bytes);
    tables.table(table::START, &[words.as_flattened()]);
    world.scheduler.turn = Some(0);
    drop(world);
    // SAFETY: threads are never freed, and this one is the caller.
    begin(unsafe { &mut *main });
    interpose::threads::main_begins();
    interpose::process::register();
    interpose::standard_input::begin();
}

fn read_plan(path: &[u8]) -> Option<Replay> {
    use std::os::unix::ffi::OsStrExt;
    let plan = std::fs::read(std::ffi::OsStr::from_bytes(path)).ok()?;
    Replay::read(&plan, variable(c"FORETRACE_OUTCOME")?)
}

/// What the recorded run got from outside.
fn read_inputs() -> Option<Box<Inputs>> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::OsStr::from_bytes(variable(c"FORETRACE_INPUTS")?);
    let bytes = std::fs::read(path).ok()?.leak();
    let inputs = Inputs::read(bytes, variable(c"FORETRACE_LIVE").is_some());
    if inputs.is_none() {
        message::say("the recorded inputs of the replay cannot be read");
        message::leave(125);
    }
    inputs.map(Box::new)
}

/// The calling thread is `thread` from now on; its first record.
pub(crate) fn begin(thread: &mut Thread) {
    let number = system_call(libc::SYS_gettid, [0; 6]) as i32;
    thread.kernel_id.store(number as u32, Relaxed);
    thread.busy.store(true, Relaxed);
    interpose::numbers::thread_begins(thread, number);
    thread::set_current(thread);
    crate::schedule::await_first_turn(thread);
    let [low, high] = interpose::threads::stack();
    if explore::is_on() {
        explore::note_stack(thread.index, [low, high]);
    }
    thread.point(kind::BEGIN, 0, 0, 0);
    hold().stamped(thread, kind::BEGIN, 0, 0, [low, high]);
    thread.busy.store(false, Relaxed);
}

/// Modules by the addresses of their sites, for looking up the strings of a site.
struct Known {
    /// The newest is the last. The program may have unloaded others, so their tables are not looked
    /// at any more.
    modules: Vec<Module>,
    /// The addresses of their functions.
    functions: BTreeSet<u64>,
    /// First addresses and sizes of their global variables.
    globals: Vec<(u64, u64)>,
}

// SAFETY: the pointers in it lead to tables of modules, which nobody changes.
unsafe impl Send for Known {}

static KNOWN: Guarded<Known> =
    Guarded::new(Known { modules: Vec::new(), functions: BTreeSet::new(), globals: Vec::new() });
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// The bytes of a table.
///
/// # Safety
///
/// It has so many elements, without padding in them, and is there as long as the bytes are used.
unsafe fn bytes<T>(start: *const T, count: u64) -> &'static [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start.cast(), count as usize * size_of::<T>()) }
}

/// The elements of a table.
///
/// # Safety
///
/// It has so many, and is there as long as they are used.
unsafe fn elements<'a, T>(start: *const T, count: u64) -> &'a [T] {
    // SAFETY: the caller says so.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, count as usize) } }
}

/// A module introduces itself, from its constructor.
#[unsafe(no_mangle)]
unsafe extern "C" fn __ft_module(module: *const Module) {
    start();
    // SAFETY: the constructor that the plugin has put into the module gives its tables.
    let module = unsafe { *module };
    if module.abi != ABI {
        if REFUSED.fetch_add(1, Relaxed) == 0 {
            message::say(
                "some objects were compiled with another version of foretrace: compile everything \
                 again (after `cargo xtask build`, if you build foretrace yourself)",
            );
        }
        message::leave(125);
    }
    // SAFETY: the tables are of this version, and have as many elements as the module says.
    let (functions, globals) = unsafe {
        (
            elements(module.functions, module.function_count),
            elements(module.globals, module.global_count),
        )
    };
    KNOWN.with(|known| {
        known.modules.push(module);
        known.functions.extend(functions.iter().map(|function| function.address));
        known.globals.extend(globals.iter().map(|global| (global.address, global.size)));
    });
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return;
    }
    let counts = [
        module.sites as u64,
        module.site_count,
        module.strings_size,
        module.global_count,
        module.function_count,
    ];
    let counts = counts.map(u64::to_le_bytes);
    // SAFETY: the tables have as many elements as the module says, none of them with padding.
    let parts = unsafe {
        [
            counts.as_flattened(),
            bytes::<Site>(module.sites, module.site_count),
            bytes::<u8>(module.strings, module.strings_size),
            bytes::<Global>(module.globals, module.global_count),
            bytes::<Function>(module.functions, module.function_count),
        ]
    };
    let keeps_image = config::keeps_control_flow() && module.image_size > 0;
    // SAFETY: it is the module whose constructor calls.
    let image = keeps_image.then(|| unsafe { image(&module) });
    // Values matter where a walk along the path can say what is computed from them.
    // SAFETY: as above; its variables are there, and nobody uses them yet.
    let contents = keeps_image.then(|| unsafe { contents(globals) });
    let introduce = || {
        let mut world = hold();
        world.tables.table(table::MODULE, &parts);
        // SAFETY: as above.
        let names: &[u8] = unsafe { bytes(module.names, module.names_size) };
        if !names.is_empty() {
            world.tables.table(table::NAMES, &[names]);
        }
        if let Some(image) = &image {
            world.tables.table(table::IMAGE, &[image]);
        }
        if let Some(contents) = &contents {
            world.tables.table(table::CONTENTS, &[contents]);
        }
    };
    // The dynamic linker may load modules in mid-run: hold the world like everybody else.
    if thread::enter(|_| introduce()).is_none() {
        introduce();
    }
}

/// The table of a module's code.
///
/// # Safety
///
/// The module is loaded, and its tables and constants are where it says.
unsafe fn image(module: &Module) -> Vec<u8> {
    let mut table = Vec::new();
    let mut put = |part: &[u8]| {
        table.extend_from_slice(part);
        table.resize(table.len().next_multiple_of(8), 0);
    };
    let counts = [module.image_size, module.symbol_count, module.constant_count];
    put(counts.map(u64::to_le_bytes).as_flattened());
    // SAFETY: the caller says so, and constants that are nowhere are left out.
    unsafe {
        put(bytes(module.image, module.image_size));
        put(bytes(module.symbols, module.symbol_count));
        for index in 0..module.constant_count as usize {
            let Constant { address, size } = *module.constants.add(index);
            // What is declared weak may be nowhere.
            let kept = if address == 0 || size > LONGEST_CONSTANT { 0 } else { size };
            put([address, size, kept].map(u64::to_le_bytes).as_flattened());
            put(bytes(address as *const u8, kept));
        }
    }
    table
}

/// What a module's variables hold now: no constructor of the program has run yet. Of those that are
/// zero the module says it itself.
///
/// # Safety
///
/// The variables are where the module says, and nobody writes to them meanwhile.
unsafe fn contents(globals: &[Global]) -> Vec<u8> {
    let mut table = Vec::new();
    for &Global { address, size, flags, .. } in globals {
        if address == 0 || flags != 0 || size > LONGEST_GLOBAL {
            continue;
        }
        // SAFETY: the caller says so.
        let content: &[u8] = unsafe { bytes(address as *const u8, size) };
        let kept = content.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        table.extend_from_slice([address, size, kept as u64].map(u64::to_le_bytes).as_flattened());
        table.extend_from_slice(&content[..kept]);
        table.resize(table.len().next_multiple_of(8), 0);
    }
    table
}

/// Whether the function at an address is one that was compiled with hooks.
pub(crate) fn is_instrumented(function: u64) -> bool {
    KNOWN.with(|known| known.functions.contains(&function))
}

/// The name of the file that a site is in.
pub(crate) fn file_of(site: &Site) -> &'static [u8] {
    let address = std::ptr::from_ref(site) as u64;
    KNOWN.with(|known| {
        let inside = |module: &&Module| {
            let start = module.sites as u64;
            (start..start + module.site_count * size_of::<Site>() as u64).contains(&address)
        };
        // SAFETY: the module that the site is in is loaded, since the site is; and what a site
        // calls its file is the place of a C string in the module's strings.
        known.modules.iter().rev().find(inside).map_or(&[][..], |module| unsafe {
            std::ffi::CStr::from_ptr(module.strings.add(site.file as usize).cast()).to_bytes()
        })
    })
}

/// First addresses and sizes of the global variables that have this size.
pub(crate) fn globals_of(size: u64) -> Vec<(u64, u64)> {
    KNOWN.with(|known| known.globals.iter().copied().filter(|global| global.1 == size).collect())
}
