//! Replays need nobody: what came from outside in the recorded run is given to the program again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Done, Program, command, compile, folder, source};

/// The command, with its output in a pipe.
fn start(arguments: &[&str], program: &Program, of_program: &[&str]) -> Child {
    to_start(arguments, program, of_program).spawn().unwrap()
}

fn to_start(arguments: &[&str], program: &Program, of_program: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
    command
        .args(arguments)
        .arg("--")
        .arg(&program.path)
        .args(of_program)
        .env("TAG", "one")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a server did, and where it listened.
struct Served {
    port: u16,
    done: Done,
}

/// The processes that a process has started.
fn children(process: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let lists = threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split(' ').filter_map(|one| one.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The process that runs the program, below a command that may have others in between.
fn running(program: &Program, command: u32) -> i32 {
    let mut among = vec![command as i32];
    while let Some(process) = among.pop() {
        if std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == program.path) {
            return process;
        }
        among.extend(children(process));
    }
    panic!("{} does not run", program.path.display());
}

/// Starts a server by a command, talks to it as two clients, and ends it with SIGTERM.
fn serve(arguments: &[&str], program: &Program, of_program: &[&str]) -> Served {
    let start_time = Instant::now();
    let mut command = start(arguments, program, of_program);
    let mut output = BufReader::new(command.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let port: u16 = line.trim().strip_prefix("port ").unwrap().parse().unwrap();
    let mut clients: Vec<TcpStream> =
        (0..2).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    for _ in 0..3 {
        for (client, number) in clients.iter_mut().zip(["1", "2"]) {
            client.write_all(number.as_bytes()).unwrap();
        }
        for client in &mut clients {
            let mut answer = [0; 32];
            assert!(client.read(&mut answer).unwrap() > 0);
        }
    }
    drop(clients.pop());
    std::thread::sleep(Duration::from_millis(30));
    // SAFETY: a system call.
    unsafe { libc::kill(running(program, command.id()), libc::SIGTERM) };
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let mut ended = command.wait_with_output().unwrap();
    ended.stdout = (line + &rest).into_bytes();
    Served { port, done: Done::new(&ended, start_time.elapsed()) }
}

/// Records a server, with a seed for which both races can be predicted, and predicts.
fn recorded_server(name: &str, of_program: &[&str]) -> (Program, String, Served) {
    let program = compile(name, &["server.c"]);
    let (trace, report) = (program.beside("run.ftb"), program.beside("report.json"));
    for seed in 1..40 {
        let seed = seed.to_string();
        let served = serve(&["run", "--seed", &seed, "-o", &trace], &program, of_program);
        assert_eq!(served.done.status, 0, "{}", served.done.log);
        let own = Path::new(env!("CARGO_BIN_EXE_foretrace"));
        let predicted = command(own, &["predict", &trace, "--json", &report], "");
        let races = ["data race on total", "data race on left"];
        if predicted.status == 1 && races.iter().all(|race| predicted.out.contains(race)) {
            return (program, report, served);
        }
    }
    panic!("no seed shows both races");
}

#[test]
fn a_server_is_replayed_without_clients_and_without_its_port() {
    let (program, report, served) = recorded_server("server", &[]);
    // Somebody else has the port now, and there are two replays at once.
    let _port = TcpListener::bind(("127.0.0.1", served.port)).unwrap();
    let start_time = Instant::now();
    let replays = [(), ()].map(|()| start(&["replay", &report], &program, &[]));
    for replay in replays {
        let done = Done::new(&replay.wait_with_output().unwrap(), start_time.elapsed());
        let done = done
            .ended_with(1)
            .says("race-1: confirmed with recorded inputs: both accesses were about to happen")
            .says("race-2: confirmed with recorded inputs: both accesses were about to happen")
            .says_not("diverged");
        // Two replays of each finding; and the machine may be busy.
        let recorded = served.done.took;
        assert!(done.took < 2 * recorded + Duration::from_secs(2), "{:?}", done.took);
    }
    // Among real clients and clocks there is nobody to talk to.
    program
        .with(&["replay", "--live", "--timeout", "2s", &format!("{report}#race-1")], &[])
        .ended_with(3)
        .says("race-1: diverged");
}

#[test]
fn a_server_may_send_its_own_number() {
    let (program, report, _) = recorded_server("with-pid", &["pid"]);
    program
        .with(&["replay", &report], &["pid"])
        .ended_with(1)
        .says("race-1: confirmed with recorded inputs")
        .says("race-2: confirmed with recorded inputs")
        .says_not("diverged");
}

#[test]
fn numbers_of_processes_and_threads_are_those_of_the_recorded_run() {
    let program = compile("numbers", &["numbers.c"]);
    for way in ["process", "parent", "thread", "send", "ask", "copy", "lead"] {
        for seed in ["1", "2"] {
            let done = is_confirmed(&program, &[way], "", &["--seed", seed]);
            drew_the_same(
                &done
                    .ended_with(1)
                    .says("race-1 (real, confirmed with recorded inputs): data race"),
            );
        }
    }
}

#[test]
fn an_answer_that_never_came_is_not_waited_for() {
    let program = compile("unanswered", &["unanswered.c"]);
    let silent = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    for seed in ["1", "2", "3"] {
        is_confirmed(&program, &[&port], "", &["--seed", seed])
            .ended_with(1)
            .says("race-1 (real, confirmed with recorded inputs): data race on total");
    }
}

/// What the program says in the replay is what it said in the recorded run.
fn drew_the_same(done: &Done) {
    let mut drawn = done.out.lines().chain(done.log.lines()).filter(|line| line.contains("drawn"));
    let first = drawn.next().unwrap();
    let again = drawn.next().unwrap().trim_start_matches(['|', ' ']);
    assert_eq!(first, again, "{}", done.out);
}

#[test]
fn a_server_is_tested_in_one_command() {
    let program = compile("tested-server", &["server.c"]);
    let found = (1..20).any(|seed| {
        let seed = seed.to_string();
        let served = serve(&["test", "--seed", &seed], &program, &[]);
        assert!(matches!(served.done.status, 0 | 1), "{}", served.done.log);
        let done = served.done.says_not("not confirmed");
        done.status == 1
            && done.says("(real, confirmed with recorded inputs): data race").status == 1
    });
    assert!(found, "no seed shows a race");
}

#[test]
fn who_sends_other_bytes_has_diverged() {
    let (program, report, _) = recorded_server("other-bytes", &["tag"]);
    let mut replay = to_start(&["replay", &format!("{report}#race-2")], &program, &["tag"]);
    let ended = replay.env("TAG", "two").output().unwrap();
    Done::new(&ended, Duration::ZERO)
        .ended_with(3)
        .says("it sends other bytes than in the recorded run")
        .says("write at ");
}

/// Tests a program that depends on something from outside, and that may look different in a replay.
fn is_confirmed(program: &Program, arguments: &[&str], input: &str, options: &[&str]) -> Done {
    let mut words = vec!["test"];
    words.extend(options);
    words.extend(["--", program.path.to_str().unwrap()]);
    words.extend(arguments);
    command(Path::new(env!("CARGO_BIN_EXE_foretrace")), &words, input)
}

/// What a program gets from outside without being fed by somebody.
const WAYS: [&str; 9] = [
    "clock",
    "random",
    "urandom",
    "device",
    "kernel",
    "kernel's stream",
    "title",
    "measured",
    "child",
];

#[test]
fn input_clocks_and_random_numbers_are_those_of_the_recorded_run() {
    let program = compile("inputs", &["inputs.c"]);
    let long = "1 2 3 4 5 6 7 8 9 10\n".repeat(2000);
    let inputs = [("input", "57\n"), ("stream", "57\n"), ("stream", &long)];
    for (way, input) in inputs.into_iter().chain(WAYS.map(|way| (way, ""))) {
        for seed in ["1", "2", "3"] {
            let done = is_confirmed(&program, &[way], input, &["--seed", seed]);
            drew_the_same(
                &done
                    .ended_with(1)
                    .says("race-1 (real, confirmed with recorded inputs): data race"),
            );
        }
    }
}

#[test]
fn addresses_of_hosts_are_those_of_the_recorded_run() {
    let folder = folder("resolver");
    let library = folder.join("libresolver.so");
    let library = library.to_str().unwrap();
    let source = source("resolver.c");
    let arguments = ["-shared", "-fPIC", "-Wall", "-Werror", &source, "-o", library];
    command(Path::new("clang-19"), &arguments, "").ended_with(0);
    let run_path = format!("-Wl,-rpath,{}", folder.display());
    let program = compile("hosts", &["inputs.c", library, &run_path]);
    for seed in ["1", "2"] {
        drew_the_same(
            &is_confirmed(&program, &["host"], "", &["--seed", seed])
                .ended_with(1)
                .says("race-1 (real, confirmed with recorded inputs): data race"),
        );
    }
}

/// Sends a byte and a descriptor.
fn send_descriptor(to: &UnixStream) {
    let file = std::fs::File::create("/dev/null").unwrap();
    let mut byte = [b'x'];
    // SAFETY: all pointers are to variables that live as long.
    unsafe {
        let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut room = [0u64; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut data, 1);
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let header = &mut *libc::CMSG_FIRSTHDR(&message);
        (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        header.cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(file.as_raw_fd());
        assert_eq!(libc::sendmsg(to.as_raw_fd(), &message, 0), 1);
    }
}

#[test]
fn what_cannot_be_given_again_ends_the_replay_with_the_reason() {
    let program = compile("passed", &["passed.c"]);
    // Names of sockets must be short.
    let socket = std::env::temp_dir().join(format!("foretrace-{}", std::process::id()));
    for way in ["splice", "descriptor"] {
        // Most often there is none.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            match way {
                "splice" => client.write_all(b"x").unwrap(),
                _ => send_descriptor(&client),
            }
            // Until the client is gone.
            let _ = client.read(&mut [0]);
        });
        is_confirmed(&program, &[way, socket.to_str().unwrap()], "", &[])
            .ended_with(3)
            .says("race-1 (possible, not confirmed by replay): data race on total")
            .says("what the recorded run got here cannot be given again");
        server.join().unwrap();
    }
    std::fs::remove_file(&socket).unwrap();
}

#[test]
fn with_live_replays_the_world_is_asked_again() {
    let program = compile("live", &["inputs.c"]);
    // There is no input any more: so the threads do other things than recorded.
    is_confirmed(&program, &["input"], "57\n", &["--live"])
        .ended_with(3)
        .says("not confirmed by replay");
    // Where nothing depends on the outside, nothing is given, and nothing is said of it.
    let racy = compile("live-racy", &["racy.c"]);
    is_confirmed(&racy, &[], "", &["--live"]).ended_with(1).says("confirmed by replay");
    is_confirmed(&racy, &[], "", &[])
        .ended_with(1)
        .says("confirmed by replay")
        .says_not("recorded inputs");
}

/// Starts a test of a program that says when it is ready, and sends it SIGTERM then.
fn terminate(program: &Program, seed: &str, way: &str) -> Done {
    let start_time = Instant::now();
    let mut command = start(&["test", "--seed", seed], program, &[way]);
    let mut output = BufReader::new(command.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    if way != "timer" {
        std::thread::sleep(Duration::from_millis(50));
        // SAFETY: a system call.
        unsafe { libc::kill(running(program, command.id()), libc::SIGTERM) };
    }
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let mut ended = command.wait_with_output().unwrap();
    ended.stdout = rest.into_bytes();
    let done = Done::new(&ended, start_time.elapsed()).ended_with(1);
    assert!(done.took.as_secs() < 10, "{way}: {:?}", done.took);
    done
}

#[test]
fn signals_come_where_they_came() {
    let program = compile("told", &["told.c"]);
    for way in ["sigwait", "pause", "timer"] {
        for seed in ["1", "2", "3"] {
            terminate(&program, seed, way)
                .says("race-1 (real, confirmed with recorded inputs): data race on left");
        }
    }
}

#[test]
fn a_signal_ends_a_sleep_in_replays_too() {
    let program = compile("asleep", &["asleep.c"]);
    for (seed, way) in ["sleep", "usleep", "nanosleep", "clock_nanosleep"].iter().enumerate() {
        terminate(&program, &seed.to_string(), way)
            .says("(real, confirmed with recorded inputs): data race on came")
            .says("(real, confirmed with recorded inputs): data race on left")
            .says_not("(possible");
    }
}

/// Which port the kernel chooses makes no difference to replays.
#[test]
fn replays_of_servers_on_any_port_are_told_the_recorded_one() {
    let program = compile("any-port", &["any_port.c"]);
    let mut found = 0;
    for seed in 1..12 {
        let seed = seed.to_string();
        let done = program.with(&["test", "--seed", &seed], &[]).says_not("not confirmed");
        found += done.out.matches("confirmed with recorded inputs): data race").count();
    }
    assert!(found > 0);
    // Whether who connects or who accepts comes back first.
    for seed in 1..6 {
        let seed = seed.to_string();
        let done = program.with(&["test", "--schedule", "free", "--seed", &seed], &[]);
        done.says_not("another number");
    }
}

#[test]
fn a_replay_sends_no_signals_to_others() {
    let program = compile("kill", &["inputs.c"]);
    let came = program.folder.join("came");
    let script =
        format!("trap 'echo came >> {}' USR1; while :; do sleep 0.05; done", came.display());
    let mut other = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let way = format!("kill{}", other.id());
    let done = is_confirmed(&program, &[&way], "", &[]);
    std::thread::sleep(Duration::from_millis(300));
    other.kill().unwrap();
    other.wait().unwrap();
    done.ended_with(1).says("race-1 (real, confirmed with recorded inputs): data race");
    // Once, in the recorded run.
    assert_eq!(std::fs::read_to_string(came).unwrap(), "came\n");
}

/// Answers each connection with the bytes that it sends. Ends with the test.
fn echo() -> u16 {
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in server.incoming() {
            let mut client = client.unwrap();
            let mut bytes = [0; 64];
            while let Ok(count @ 1..) = client.read(&mut bytes) {
                client.write_all(&bytes[..count]).unwrap();
            }
        }
    });
    port
}

#[test]
fn what_a_wait_watches_may_change_while_it_waits() {
    let program = compile("late-watch", &["late_watch.c"]);
    let port = echo().to_string();
    for seed in ["1", "2", "3", "4", "5", "6"] {
        // It waits for the outside, and is not deadlocked; what came before the request comes
        // before the answer.
        is_confirmed(&program, &[&port], "", &["--seed", seed])
            .ended_with(1)
            .says("(real, confirmed with recorded inputs): data race on total")
            .says("verdict: 1 bug confirmed by replay")
            .says_not("data race on request");
    }
}

#[test]
fn handlers_of_the_process_s_own_signals_run_where_they_ran() {
    let program = compile("own-signals", &["own_signals.c"]);
    for way in ["read", "poll", "epoll"] {
        for to in [&[way][..], &[way, "thread"]] {
            for seed in ["1", "2", "3", "4"] {
                is_confirmed(&program, to, "", &["--seed", seed])
                    .ended_with(1)
                    .says("race-1 (real, confirmed ")
                    .says("verdict: 2 bugs confirmed ");
            }
        }
    }
}

#[test]
fn what_an_epoll_object_says_of_a_descriptor_may_be_another_address() {
    let program = compile("moved", &["moved.c"]);
    for seed in ["1", "2", "3", "4", "5", "6"] {
        is_confirmed(&program, &[], "x\n", &["--seed", seed])
            .ended_with(1)
            .says("verdict: 1 bug confirmed by replay")
            .says_not("not so");
    }
}

#[test]
fn a_name_that_an_earlier_replay_left_behind_is_no_obstacle() {
    let program = compile("names", &["names.c"]);
    // Names of sockets have 107 bytes at most.
    let name = std::env::temp_dir().join(format!("foretrace-test-{}", std::process::id()));
    let name = name.to_str().unwrap().to_string();
    let (trace, report) = (program.beside("run.ftb"), program.beside("report.json"));
    let own = Path::new(env!("CARGO_BIN_EXE_foretrace"));
    let path = program.path.to_str().unwrap();
    command(own, &["run", "-o", &trace, "--", path, &name], "").ended_with(0);
    command(own, &["predict", &trace, "--json", &report], "").ended_with(1);
    // The file stays, and nobody listens.
    drop(std::os::unix::net::UnixListener::bind(&name).unwrap());
    command(own, &["replay", &report, "--", path, &name], "")
        .ended_with(1)
        .says("race-1: confirmed: both accesses were about to happen at once")
        .says("race-2: confirmed: both accesses were about to happen at once");
    // Somebody listens: that is not taken away.
    let _ = std::fs::remove_file(&name);
    let _listener = std::os::unix::net::UnixListener::bind(&name).unwrap();
    command(own, &["replay", &report, "--", path, &name], "")
        .ended_with(3)
        .says_not("confirmed: both");
    assert!(Path::new(&name).exists());
    std::fs::remove_file(&name).unwrap();
}
