//! Counts hooks: those that an image means, and those that the code has.

use std::collections::BTreeMap;

/// How many calls of which hook the image means. `__ft_at` makes no record, and is left out.
pub(crate) fn hooks_of_image(image: &str) -> BTreeMap<String, u32> {
    let mut hooks = BTreeMap::new();
    for line in image.lines() {
        let line = line.split_once("  ; ").map_or(line, |(code, _)| code);
        let body = line.split_once(" = ").map_or(line.trim_start(), |(_, body)| body);
        // The size of a copy is recorded as that of a switch.
        let (body, noted) = match body.strip_suffix(" noted") {
            Some(body) => (body, Some("switch".to_string())),
            None => (body, None),
        };
        for hook in hooks_of_line(line, body).into_iter().chain(noted) {
            *hooks.entry(hook).or_insert(0) += 1;
        }
    }
    hooks
}

fn hooks_of_line(line: &str, body: &str) -> Vec<String> {
    let words: Vec<&str> = body.split([' ', '(']).collect();
    let is_private = |word: usize| words.get(word) == Some(&"private");
    let one = |hook: &str| vec![hook.to_string()];
    let size =
        |prefix: &str| words[0].strip_prefix(prefix).and_then(|size| size.parse::<u32>().ok());
    let is_atomic = words.len() > 1
        && ["relaxed", "acquire", "release", "acq_rel", "seq_cst"].contains(&words[1]);
    let atomic = if is_atomic { "atomic_" } else { "" };
    if !line.starts_with(' ') {
        return if line.contains(" enters") { one("enter") } else { Vec::new() };
    }
    if let Some(size) = size("load") {
        return one(&format!("{atomic}load{size}"));
    }
    if let Some(size) = size("store") {
        return one(&format!("{atomic}store{size}"));
    }
    if let Some(size) = size("cas") {
        return one(&format!("atomic_cas{size}"));
    }
    match words[0] {
        "load" => one("load_n"),
        "store" => one("store_n"),
        "fence" if words.len() > 1 => one("fence"),
        "branch" if words[1] != "constant" => one("path"),
        "switch" if words[1] != "constant" => one("switch"),
        "leave" if body.contains(" no return") => one("call"),
        "leave" if words[1] == "`atomic" => ["call", "return", "unseen"].map(String::from).to_vec(),
        "leave" => ["call", "return"].map(String::from).to_vec(),
        "hooked" => vec![words[1].trim_matches('`').to_string(), "return".to_string()],
        "opaque" if words[1] == "`exception`" => one("land"),
        "opaque" if body.starts_with("opaque memory `inline assembly`") => one("unseen"),
        "fill" if !is_private(1) => one("memset"),
        "copy" => match (is_private(1), body.matches("private").count()) {
            (_, 0) => one("memcpy"),
            (true, 1) => one("load_n"),
            (false, _) => one("store_n"),
            _ => Vec::new(),
        },
        rmw if rmw.starts_with("rmw") => one(&format!("atomic_rmw{}", words[2])),
        _ => Vec::new(),
    }
}

/// Those that the code has.
pub(crate) fn hooks_of_module(module: &str) -> BTreeMap<String, u32> {
    let mut hooks = BTreeMap::new();
    for line in module.lines().filter(|line| line.contains("call ")) {
        let Some((_, call)) = line.split_once("@__ft_") else { continue };
        let hook = call.split_once('(').map_or(call, |(hook, _)| hook);
        // What a function does with channels, the image does not say.
        let hook = if hook == "call_on" { "call" } else { hook };
        if !["at", "module", "pause"].contains(&hook) {
            *hooks.entry(hook.to_string()).or_insert(0) += 1;
        }
    }
    hooks
}
