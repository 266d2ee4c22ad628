//! The project's own commands; `cargo xtask help` lists them.
//!
//! Depends on no crate of the workspace, so that it starts within seconds on a machine that has
//! nothing but a Rust toolchain, and can install the rest.

mod architecture;
mod bench;
mod clean_root;
mod corpus;
mod demo;
mod dependencies;
mod documents;
mod metadata;
mod package;
mod release;
mod sanitize;
mod shell;
mod suite;
mod tools;

use std::process::ExitCode;

use bench::Part;
use shell::Stop;
use suite::Tier;

const HELP: &str = "\
cargo xtask COMMAND

  demo                        build, compile a small bank, run it once, predict and replay its bug
  build                       everything that users run, into target/release
  test [--long]               everything that a change must pass: format, lints, rules, tests, oracle,
                              corpus; --long: with ten times as many random cases, some hours
  check                       the quick part of `test`, under 3 minutes
  rules                       dependencies (licences, sources), architecture and documents only
  oracle [--cases N] [--seed S]
                              compare with exhaustive enumeration on random traces
  differential [--programs N] [--seed S]
                              compare with all schedules of random C programs
  install [--prefix DIR]      build everything and install it (default: /usr/local)
  dist                        an archive and a Debian package, checked by lintian
  clean-root                  the same, installed and tried in a fresh Debian (needs root)
  release [--dry-run]         check that the version can go out, make its archive and try it, and
                              package the crates that are useful alone; publishes nothing
  validators                  install what the tests of report formats need
  sanitize                    record a dozen programs under valgrind, which watches the runtime
  corpus [DIR]                recorded traces of public projects [default: ../shared/traces]
  bench [front|classes|causality|public|symbolic|programs|engines|reference|staged|compiling|recording|rewalk|verify|solver] [--quick]
                              throughput of the front end; predictions with many pairs;
                              public traces [../shared/traces]; against the papers' formula in
                              z3: assertions, races, and its stages; which engine
                              decides what; what recording costs, and what the
                              walk along recorded paths does
";

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
}

/// A shell makes its jobs in the background ignore Ctrl-C, and all processes below inherit that.
/// The tests that interrupt programs would then wait for ever.
fn heed_interrupts() {
    const SIGINT: i32 = 2;
    const SIG_DFL: usize = 0;
    // SAFETY: the C library's own function, called with its own numbers.
    unsafe { signal(SIGINT, SIG_DFL) };
}

fn main() -> ExitCode {
    heed_interrupts();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            eprintln!("xtask: {}", stop.message);
            ExitCode::from(stop.code)
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Stop> {
    match arguments {
        ["demo"] => demo::demo(),
        ["build"] => demo::build().map(drop),
        ["test"] => suite::test(Tier::Change),
        ["test", "--long"] => suite::test(Tier::Long),
        ["check"] => suite::check(),
        ["rules"] => suite::rules(),
        ["oracle", rest @ ..] => {
            let cases = number(rest, "--cases")?.unwrap_or(20_000);
            let seed = number(rest, "--seed")?.unwrap_or(suite::SEED);
            tools::ensure()?;
            suite::oracle(cases, seed)
        }
        ["differential", rest @ ..] => {
            let programs = number(rest, "--programs")?.unwrap_or(2_000);
            let seed = number(rest, "--seed")?.unwrap_or(suite::SEED);
            tools::ensure_for_tests()?;
            suite::differential(programs, seed)
        }
        ["install"] => package::install("/usr/local".as_ref()),
        ["install", "--prefix", prefix] => package::install(prefix.as_ref()),
        ["dist"] => package::dist().map(drop),
        ["clean-root"] => clean_root::clean_root().map(drop),
        ["release"] => release::release(false),
        ["release", "--dry-run"] => release::release(true),
        ["validators"] => tools::ensure_validators().map(|()| tools::ensure_for_pages()),
        ["sanitize"] => sanitize::sanitize().map(drop),
        ["corpus"] => corpus::corpus(&corpus::default_folder()).map(drop),
        ["corpus", folder] => corpus::corpus(folder.as_ref()).map(drop),
        ["bench", rest @ ..] => {
            let quick = rest.contains(&"--quick");
            let parts = rest.iter().filter(|word| **word != "--quick").map(|word| match *word {
                "front" => Ok(Part::Front),
                "classes" => Ok(Part::Classes),
                "causality" => Ok(Part::Causality),
                "public" => Ok(Part::Public),
                "symbolic" => Ok(Part::Symbolic),
                "programs" => Ok(Part::Programs),
                "engines" => Ok(Part::Engines),
                "reference" => Ok(Part::Reference),
                "staged" => Ok(Part::Staged),
                "compiling" => Ok(Part::Compiling),
                "recording" => Ok(Part::Recording),
                "rewalk" => Ok(Part::Rewalk),
                "verify" => Ok(Part::Verify),
                "solver" => Ok(Part::Solver),
                other => Err(Stop::usage(format!("bench has no part `{other}`\n\n{HELP}"))),
            });
            let parts = parts.collect::<Result<Vec<Part>, Stop>>()?;
            bench::bench(if parts.is_empty() { &bench::ALL } else { &parts }, quick)
        }
        ["help" | "--help" | "-h"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Stop::usage(format!("unknown command `{}`\n\n{HELP}", arguments.join(" ")))),
    }
}

/// The number after an option, if the option is given.
fn number(arguments: &[&str], option: &str) -> Result<Option<u64>, Stop> {
    let Some(at) = arguments.iter().position(|argument| *argument == option) else {
        return Ok(None);
    };
    let value = arguments.get(at + 1).and_then(|value| value.parse().ok());
    value.map(Some).ok_or_else(|| Stop::usage(format!("{option} needs a number")))
}
