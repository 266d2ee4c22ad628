//! Programs in which something depends on what was read in a way that is easy to overlook. Their
//! assertions hold in every schedule: a finding is a dependence that got lost.

use std::fs;
use std::path::{Path, PathBuf};

use super::foretrace;

#[test]
fn nothing_that_depends_on_a_read_is_taken_for_a_number() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/dependences");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dependences");
    fs::create_dir_all(&folder).unwrap();
    let mut checked = 0;
    for entry in fs::read_dir(sources).unwrap() {
        let source = entry.unwrap().path();
        if source.extension().is_some_and(|kind| kind == "h") {
            continue;
        }
        for level in ["-O0", "-O2"] {
            check(&source, level, &folder);
            checked += 1;
        }
    }
    assert!(checked >= 30, "{checked}");
}

fn check(source: &Path, level: &str, folder: &Path) {
    let name = source.file_name().unwrap().to_str().unwrap();
    let program = folder.join(format!("{name}{level}"));
    let compiler = if name.ends_with(".cpp") { "c++" } else { "cc" };
    let (source, program) = (source.to_str().unwrap(), program.to_str().unwrap());
    let compiled = foretrace(&[compiler, "-g", "-w", "-pthread", level, source, "-o", program]);
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    for seed in ["1", "2"] {
        let trace = format!("{program}.ftb");
        let run = foretrace(&["run", "--seed", seed, "-o", &trace, program]);
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
        let predicted = foretrace(&["predict", &trace, "--check", "assertion"]);
        let said = String::from_utf8_lossy(&predicted.stdout);
        // Possible is what the schedule cannot explain, and says so.
        assert!(!said.contains("(real"), "{name} {level}, seed {seed}:\n{said}");
        let is_open = said.contains("(possible") || said.contains("undecided: ");
        let status = if is_open { 3 } else { 0 };
        assert_eq!(predicted.status.code(), Some(status), "{name} {level}: {said}");
    }
}
