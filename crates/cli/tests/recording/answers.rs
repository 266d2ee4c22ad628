//! Somebody outside of the process who answers what a thread tells him orders it before whoever
//! gets the answer, however the one is told and the other one answered.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Done, compile};

#[test]
fn what_is_answered_from_outside_is_no_race() {
    let program = compile("answered", &["answered.c"]);
    let name = program.beside("name");
    for way in ["output", "errors", "file", "signal", "page", "appears", "polled"] {
        for seed in ["1", "2", "3"] {
            let _ = fs::remove_file(&name);
            if way == "polled" {
                fs::write(&name, "").unwrap();
            }
            let mut child = Command::new(env!("CARGO_BIN_EXE_foretrace"))
                .args(["test", "--timeout", "30s", "--seed", seed, "--"])
                .arg(&program.path)
                .args([way, &name])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            match way {
                "output" | "appears" | "polled" => {
                    BufReader::with_capacity(1, child.stdout.as_mut().unwrap())
                        .read_line(&mut line)
                        .unwrap();
                }
                "errors" => {
                    BufReader::with_capacity(1, child.stderr.as_mut().unwrap())
                        .read_line(&mut line)
                        .unwrap();
                }
                _ => {
                    let is_told = || match way {
                        "page" => fs::read(&name).is_ok_and(|found| found == b"r"),
                        _ => Path::new(&name).exists(),
                    };
                    while !is_told() && child.try_wait().unwrap().is_none() {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            }
            if way == "signal" {
                let number = fs::read_to_string(&name).unwrap();
                let status = Command::new("kill").args(["-USR1", &number]).status().unwrap();
                assert!(status.success());
            } else if way == "appears" || way == "polled" {
                fs::write(&name, "y").unwrap();
            } else {
                child.stdin.as_mut().unwrap().write_all(b"y").unwrap();
            }
            let done = Done::new(&child.wait_with_output().unwrap(), Duration::ZERO);
            done.ended_with(0).says_not("race-");
        }
    }
}
