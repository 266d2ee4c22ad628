//! The tables of a recording, which say what addresses mean.

use std::collections::BTreeMap;

use foretrace_image::loaded::{self, Loaded};
use foretrace_recording::file::table;
use foretrace_recording::site::{self, SYSTEM};
use foretrace_rewalk::Code;
use foretrace_trace::import::{ImportError, Position, Problem};
use foretrace_trace::{Location, TypeId};
use rustc_hash::FxHashMap;

use super::chunks::Recording;
use super::code::Image;
use super::names::{Allocated, Base, ModuleNames};

/// All tables of all modules.
#[derive(Default)]
pub(super) struct Tables {
    modules: Vec<Module>,
    /// By address; none overlaps another.
    pub(super) globals: Vec<Global>,
    /// What variables held at first, by address: size, and the bytes up to the last one that is
    /// not 0.
    contents: BTreeMap<u64, (u64, Vec<u8>)>,
    pub(super) lock_names: FxHashMap<u64, String>,
    pub(super) benign: Vec<Benign>,
    /// Parent, and which child of it, as the runtime counted.
    pub(super) threads: FxHashMap<u32, (u32, u32)>,
    pub(super) assertion: Option<String>,
    /// The names of channels.
    pub(super) channels: FxHashMap<u32, String>,
    /// The channels of calls, each with how it is used.
    pub(super) channel_lists: FxHashMap<u64, Vec<(u32, u32)>>,
    /// Which channel a channel is a part of.
    joined: FxHashMap<u32, u32>,
    /// The names of functions of which nothing is known.
    pub(super) unknown_functions: FxHashMap<u64, String>,
    /// How the process began, and what it got from outside, each as the recording has it.
    pub(super) start: Option<Vec<u8>>,
    pub(super) inputs: Vec<u8>,
    /// Whether the last table is cut off.
    pub(super) incomplete: bool,
}

struct Module {
    base: u64,
    sites: Vec<site::Site>,
    strings: Vec<u8>,
    /// Addresses and names of instrumented functions.
    functions: Vec<(u64, String)>,
    image: Option<Image>,
    names: Option<ModuleNames>,
    at: Position,
}

/// A global variable.
pub(super) struct Global {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: String,
    /// The address of its module's first site, and which of its variables it is.
    listed: (u64, u32),
}

/// The name of a global variable, in words if it is a lock that clang has made for a directive of
/// OpenMP.
fn of_directive(name: String) -> String {
    let lock = name.strip_prefix(".gomp_critical_user_").and_then(|rest| rest.strip_suffix(".var"));
    match lock {
        None => name,
        Some("") => "critical".to_string(),
        Some(".reduction") => "reduction".to_string(),
        Some(lock) => format!("critical {lock}"),
    }
}

/// A range of memory on which races are harmless.
pub(super) struct Benign {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) reason: String,
}

/// A place in the source.
pub(super) struct Place {
    pub(super) file: String,
    function: String,
    line: u32,
    column: u32,
}

impl Place {
    /// `bank.c:12:5 (withdraw)`, as far as known.
    pub(super) fn show(&self) -> String {
        let function = Some(&*self.function).filter(|function| !function.is_empty());
        match (self.line, function) {
            (0, None) => self.file.to_string(),
            (0, Some(function)) => format!("{} ({function})", self.file),
            (line, function) => {
                let column = Some(self.column).filter(|&column| column > 0);
                Location { file: &self.file, line, column, function }.to_string()
            }
        }
    }

    /// `bank.c:12`, without directories.
    pub(super) fn short(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or_default();
        if self.line > 0 { format!("{name}:{}", self.line) } else { name.to_string() }
    }
}

/// The bytes of the META stream, and where in the file they are.
struct Meta<'a> {
    content: Vec<u8>,
    pieces: Vec<(usize, usize)>,
    recording: &'a Recording<'a>,
}

impl Meta<'_> {
    fn position(&self, at: usize) -> Position {
        let piece = self.pieces.iter().rev().find(|(start, _)| *start <= at);
        let (start, file) = piece.copied().unwrap_or((0, self.recording.bytes.len().min(at)));
        Position::Byte((file + at - start) as u64)
    }
}

/// A cursor over the words of one table.
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Problem> {
        let rest = self.bytes.len() - self.at;
        match usize::try_from(length).ok().filter(|&length| length <= rest) {
            Some(length) => {
                let taken = &self.bytes[self.at..self.at + length];
                self.at = (self.at + length).next_multiple_of(8).min(self.bytes.len());
                Ok(taken)
            }
            None => Err(Problem::syntax(
                format!("a table with {rest} bytes left"),
                format!("{length} bytes"),
            )),
        }
    }

    pub(super) fn long(&mut self) -> Result<u64, Problem> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|byte| bytes[byte])))
    }

    pub(super) fn rows(
        &mut self,
        count: u64,
        size: usize,
    ) -> Result<impl Iterator<Item = Row<'a>>, Problem> {
        let length = count.saturating_mul(size as u64);
        Ok(self.take(length)?.chunks_exact(size).map(Row))
    }

    fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn text(&mut self) -> String {
        let text = &self.bytes[self.at..];
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        self.at = self.bytes.len();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// One entry of a table.
pub(super) struct Row<'a>(&'a [u8]);

impl Row<'_> {
    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }

    pub(super) fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }
}

fn string(strings: &[u8], offset: u32) -> Result<String, Problem> {
    let Some(rest) = strings.get(offset as usize..).filter(|rest| rest.contains(&0)) else {
        let found = format!("a string at {offset} of {} bytes", strings.len());
        return Err(Problem::syntax(found, "an offset of a string that ends with a NUL"));
    };
    let text = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// A place as plans for programs have it.
fn planned_place(site: &site::Site, strings: &[u8]) -> String {
    let file = string(strings, site.file).unwrap_or_default();
    match site.line {
        0 => file,
        // The runtime may call it after the place of the user's call.
        line if site.column & SYSTEM != 0 => format!("{file}:{line}"),
        line => format!("{file}:{line}:{}", site.column),
    }
}

impl Tables {
    /// Whether the recordings are of one program: its own code, the module at the lowest address,
    /// has the same places in the source.
    pub(super) fn is_same_program(&self, other: &Tables) -> bool {
        let key = |tables: &Tables| {
            let own = tables.modules.first();
            own.map(|own| (own.sites.len(), own.strings.clone()))
        };
        key(self) == key(other)
    }

    /// What a thread is called in every recording of the program: `T0` is the main thread, `T0.2`
    /// its second child.
    pub(super) fn lineage(&self, thread: u32) -> String {
        let (mut name, mut at) = (String::new(), thread);
        // Parents have lower numbers; a damaged table may say otherwise.
        while at != 0 {
            match self.threads.get(&at) {
                Some(&(parent, child)) if parent < at => {
                    name = format!(".{}{name}", u64::from(child) + 1);
                    at = parent;
                }
                _ => return format!("T{at}?{name}"),
            }
        }
        format!("T0{name}")
    }

    pub(super) fn parse(recording: &Recording) -> Result<Tables, ImportError> {
        let mut meta = Meta { content: Vec::new(), pieces: Vec::new(), recording };
        for chunk in &recording.meta {
            meta.pieces.push((meta.content.len(), chunk.content.start));
            meta.content.extend_from_slice(&recording.bytes[chunk.content.clone()]);
        }
        let mut tables = Tables::default();
        let mut globals = Vec::new();
        let mut words = Words { bytes: &meta.content, at: 0 };
        while words.at < meta.content.len() {
            let start = words.at;
            let (Ok(tag), Ok(size)) = (words.long(), words.long()) else {
                tables.incomplete = true;
                break;
            };
            if tag == 0 {
                break;
            }
            let Ok(content) = words.take(size) else {
                tables.incomplete = true;
                break;
            };
            let at = meta.position(start);
            tables.table(tag, content, at, &mut globals).map_err(|problem| problem.at(at))?;
        }
        tables.modules.sort_by_key(|module| module.base);
        tables.settle(globals);
        tables.settle_channels();
        Ok(tables)
    }

    /// Two channels are one, whenever they became it: a call that had begun before, and ends behind
    /// it, was on both.
    fn join_channels(&mut self, pair: [u32; 2]) {
        let [one, other] = pair.map(|channel| self.whole_channel(channel));
        if one != other {
            self.joined.insert(one.max(other), one.min(other));
        }
    }

    fn whole_channel(&self, mut channel: u32) -> u32 {
        while let Some(&whole) = self.joined.get(&channel) {
            channel = whole;
        }
        channel
    }

    fn settle_channels(&mut self) {
        if self.joined.is_empty() {
            return;
        }
        let mut lists = std::mem::take(&mut self.channel_lists);
        for list in lists.values_mut() {
            list.iter_mut().for_each(|(channel, _)| *channel = self.whole_channel(*channel));
            list.sort_unstable();
            list.dedup_by(|(channel, how), (kept, all)| {
                let same = channel == kept;
                if same {
                    *all |= *how;
                }
                same
            });
        }
        self.channel_lists = lists;
    }

    fn table(
        &mut self,
        tag: u64,
        content: &[u8],
        at: Position,
        globals: &mut Vec<(Global, String)>,
    ) -> Result<(), Problem> {
        let mut words = Words { bytes: content, at: 0 };
        match tag {
            table::MODULE => self.module(&mut words, at, globals)?,
            table::IMAGE => {
                let image = Image::parse(&mut words)?;
                let Some(module) = self.modules.last_mut().filter(|last| last.image.is_none())
                else {
                    return Err(Problem::syntax("an image", "first the table of its module"));
                };
                module.image = Some(image);
            }
            table::NAMES => {
                if let Some(module) = self.modules.last_mut() {
                    module.names = ModuleNames::parse(content);
                }
            }
            table::CONTENTS => {
                while !words.is_empty() {
                    let [address, size, kept] = [words.long()?, words.long()?, words.long()?];
                    let bytes = words.take(kept)?;
                    self.contents.entry(address).or_insert_with(|| (size, bytes.to_vec()));
                }
            }
            table::THREAD => {
                let [thread, parent, child] = [words.long()?, words.long()?, words.long()?];
                let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
                self.threads.insert(small(thread), (small(parent), small(child)));
            }
            table::LOCK_NAME => {
                let address = words.long()?;
                self.lock_names.insert(address, words.text());
            }
            table::BENIGN => {
                let (start, size) = (words.long()?, words.long()?);
                let reason = words.text();
                self.benign.push(Benign { start, end: start.saturating_add(size), reason });
            }
            table::ASSERTION => self.assertion = Some(words.text()),
            table::CHANNEL => {
                let number = words.long()? as u32;
                self.channels.insert(number, words.text());
            }
            table::CHANNELS => {
                let number = words.long()?;
                let list = self.channel_lists.entry(number).or_default();
                while !words.is_empty() {
                    let word = words.long()?;
                    list.push((word as u32, (word >> 32) as u32));
                }
            }
            table::JOINED => {
                let pair = [words.long()? as u32, words.long()? as u32];
                self.join_channels(pair);
            }
            table::UNKNOWN_FUNCTION => {
                let address = words.long()?;
                self.unknown_functions.insert(address, words.text());
            }
            table::START => self.start = Some(content.to_vec()),
            table::INPUT => self.inputs.extend_from_slice(content),
            // The command line, and what later versions may add, say nothing about events.
            _ => {}
        }
        Ok(())
    }

    fn module(
        &mut self,
        words: &mut Words,
        at: Position,
        globals: &mut Vec<(Global, String)>,
    ) -> Result<(), Problem> {
        let base = words.long()?;
        let [sites, strings, variables, functions] =
            [words.long()?, words.long()?, words.long()?, words.long()?];
        let sites = words.rows(sites, size_of::<site::Site>())?.map(|row| site::Site {
            file: row.word(0),
            function: row.word(4),
            line: row.word(8),
            column: row.word(12),
        });
        let sites = sites.collect();
        let strings = words.take(strings)?.to_vec();
        for (number, row) in (0..).zip(words.rows(variables, size_of::<site::Global>())?) {
            let (start, size) = (row.long(0), row.long(8));
            let end = start.saturating_add(size.min(u64::from(u32::MAX)));
            let name = string(&strings, row.word(16))?;
            let file = string(&strings, row.word(20))?;
            if end > start && row.word(28) & 1 == 0 {
                if row.word(28) & site::ZERO != 0 {
                    self.contents.insert(start, (size, Vec::new()));
                }
                globals.push((
                    Global { start, end, name: of_directive(name), listed: (base, number) },
                    file,
                ));
            }
        }
        let functions = words
            .rows(functions, size_of::<site::Function>())?
            .map(|row| Ok((row.long(0), string(&strings, row.word(8))?)))
            .collect::<Result<_, Problem>>()?;
        self.modules.push(Module { base, sites, strings, functions, image: None, names: None, at });
        Ok(())
    }

    /// Sorts the globals, drops what overlaps, and makes the names unique.
    fn settle(&mut self, mut globals: Vec<(Global, String)>) {
        globals.sort_by_key(|(global, _)| (global.start, u64::MAX - global.end));
        let mut end = 0;
        globals.retain(|(global, _)| {
            let apart = global.start >= end;
            end = end.max(global.end);
            apart
        });
        let mut count: FxHashMap<String, u32> = FxHashMap::default();
        globals.iter().for_each(|(global, _)| *count.entry(global.name.clone()).or_default() += 1);
        for (mut global, file) in globals {
            if count[&global.name] > 1 {
                let file = file.rsplit('/').next().unwrap_or_default();
                global.name = format!("{}@{file}", global.name);
            }
            self.globals.push(global);
        }
    }

    /// The code of the modules whose images the recording has, by the addresses of their sites.
    pub(super) fn code(&self) -> Vec<Code<'_>> {
        let with_image =
            self.modules.iter().filter_map(|module| Some((module, module.image.as_ref()?)));
        with_image
            .map(|(module, image)| Code {
                sites_base: module.base,
                is_system: module.sites.iter().map(|site| site.column & SYSTEM != 0).collect(),
                strings: &module.strings,
                image: &image.bytes,
                symbols: &image.symbols,
                constants: image.constants(),
                functions: &module.functions,
            })
            .collect()
    }

    /// Code and variables, for verification. Where something is known of the bytes of a variable,
    /// all of them are.
    pub(super) fn loaded(&self) -> Loaded {
        let with_image =
            self.modules.iter().filter_map(|module| Some((module, module.image.as_ref()?)));
        let modules = with_image.clone().map(|(module, image)| loaded::Module {
            strings: module.strings.clone(),
            image: image.bytes.clone(),
            symbols: image.symbols.clone(),
            places: module.sites.iter().map(|site| planned_place(site, &module.strings)).collect(),
        });
        let mut variables: BTreeMap<u64, loaded::Variable> = BTreeMap::new();
        for Global { start, end, name, .. } in &self.globals {
            let (address, size, name) = (*start, end - start, name.clone());
            let bytes = (address..*end).map(|at| self.content(at)).collect();
            let is_constant = false;
            let variable = loaded::Variable { address, size, name, is_constant, bytes };
            variables.insert(address, variable);
        }
        let mut constants: Vec<_> = with_image.flat_map(|(_, image)| image.constants()).collect();
        // A linker lets a text begin inside of one that ends the same way.
        constants.sort_by_key(|(address, bytes)| (*address, u64::MAX - bytes.len() as u64));
        for (address, bytes) in constants {
            let end = address.saturating_add(bytes.len() as u64);
            let before = variables.range(..end).next_back();
            if before.is_some_and(|(start, one)| start + one.size > address) {
                continue;
            }
            let (size, name) = (bytes.len() as u64, format!("constant at {address:#x}"));
            let bytes = Some(bytes.to_vec());
            let is_constant = true;
            let variable = loaded::Variable { address, size, name, is_constant, bytes };
            variables.insert(address, variable);
        }
        Loaded { modules: modules.collect(), variables: variables.into_values().collect() }
    }

    /// The words of global variables that are not 0 at first, as far as they are known, with their
    /// addresses.
    pub(super) fn initial_words(&self) -> impl Iterator<Item = (u64, u64)> {
        self.contents.iter().flat_map(|(&start, (_, bytes))| {
            let skipped = (start.next_multiple_of(8) - start) as usize;
            let words = bytes.get(skipped..).unwrap_or_default().chunks_exact(8).enumerate();
            words.filter_map(move |(at, word)| {
                let word = u64::from_le_bytes(word.try_into().ok()?);
                (word != 0).then_some((start + skipped as u64 + 8 * at as u64, word))
            })
        })
    }

    /// The module of a site and the number of the site there.
    fn module_of(&self, site: u64) -> Option<(usize, u32)> {
        let at = self.modules.partition_point(|module| module.base <= site).checked_sub(1)?;
        let number = (site - self.modules[at].base) / size_of::<site::Site>() as u64;
        (number < self.modules[at].sites.len() as u64).then_some((at, number as u32))
    }

    /// What the address at a site is an offset into, with the names of its module.
    pub(super) fn base(&self, site: u64) -> Option<((usize, &ModuleNames), &Base)> {
        let (at, number) = self.module_of(site)?;
        let names = self.modules[at].names.as_ref()?;
        Some(((at, names), names.base(number)?))
    }

    /// What memory that is allocated at a site is for, with the names of its module.
    pub(super) fn allocated(&self, site: u64) -> Option<((usize, &ModuleNames), &Allocated)> {
        let (at, number) = self.module_of(site)?;
        let names = self.modules[at].names.as_ref()?;
        Some(((at, names), names.allocated(number)?))
    }

    /// The type of a global variable, with the names of its module.
    pub(super) fn type_of(&self, global: usize) -> Option<((usize, &ModuleNames), TypeId)> {
        let (base, number) = self.globals[global].listed;
        let at = self.modules.iter().position(|module| module.base == base)?;
        let names = self.modules[at].names.as_ref()?;
        Some(((at, names), *names.globals.get(&number)?))
    }

    /// The directories in which the modules were compiled, each once.
    pub(super) fn directories(&self) -> Vec<String> {
        let names = self.modules.iter().filter_map(|module| module.names.as_ref());
        let mut directories: Vec<String> = names.map(|names| names.directory.clone()).collect();
        directories.sort_unstable();
        directories.dedup();
        directories
    }

    /// What the byte of a global variable held at first, if known.
    pub(super) fn content(&self, address: u64) -> Option<u8> {
        let (start, (size, bytes)) = self.contents.range(..=address).next_back()?;
        let offset = address - start;
        (offset < *size).then(|| bytes.get(offset as usize).copied().unwrap_or(0))
    }

    /// The place of a site; `None` for site 0.
    pub(super) fn place(&self, site: u64) -> Result<Option<Place>, Problem> {
        if site == 0 {
            return Ok(None);
        }
        let module = self.modules.partition_point(|module| module.base <= site).checked_sub(1);
        let found = module.and_then(|module| {
            let module = &self.modules[module];
            let distance = site - module.base;
            let row = module.sites.get(usize::try_from(distance / 16).ok()?)?;
            distance.is_multiple_of(16).then_some((module, row))
        });
        let Some((module, row)) = found else {
            let expected = "a site of one of the modules that the recording lists";
            return Err(Problem::syntax(format!("site {site:#x}"), expected));
        };
        let text = |offset: u32| {
            string(&module.strings, offset).map_err(|problem| {
                Problem::syntax(
                    format!("site {site:#x} of the module at {}with {problem}", module.at),
                    "a site",
                )
            })
        };
        let (file, function) = (text(row.file)?, text(row.function)?);
        Ok(Some(Place { file, function, line: row.line, column: row.column & !SYSTEM }))
    }
}
