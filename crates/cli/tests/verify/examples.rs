//! The programs of `examples/verify`: each must have the verdict that `expected.txt` states, and
//! every bug must happen on the compiled program.

use std::path::Path;
use std::process::Command;

#[test]
fn programs_of_the_literature() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/verify");
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it is there");
    let mut wrong = Vec::new();
    let mut tried = 0;
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [program, flags, verdict, tier] = words[..] else { panic!("four words: {line}") };
        if tier == "long" && !foretrace_testing::is_long() {
            continue;
        }
        tried += 1;
        let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
            .args(["verify", program, "--"])
            .args(flags.split(',').filter(|flag| *flag != "-"))
            .current_dir(&folder)
            .output()
            .expect("foretrace can be started");
        let said = String::from_utf8_lossy(&output.stdout);
        let is_right = match verdict {
            "proved" => said.starts_with("proved:"),
            "bug" => said.starts_with("bug:") && said.contains("\nreplayed on the compiled"),
            "open" => said.starts_with("no bug up to bound"),
            "unknown" => said.starts_with("unknown:"),
            _ => panic!("no such verdict: {line}"),
        };
        if !is_right {
            wrong.push(format!("{line}\n{said}"));
        }
    }
    assert!(wrong.is_empty() && tried > 20, "{tried} tried\n{}", wrong.join("\n"));
}
