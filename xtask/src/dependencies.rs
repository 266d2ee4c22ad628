//! What we may depend on: licences, sources, and packages that we do not want.

use std::collections::BTreeMap;

use crate::metadata::Package;

/// Licences that ask for no more than a notice.
const LICENSES: [&str; 9] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that must not come in, and why.
const BANNED: [(&str, &str); 4] = [
    ("openssl", "nothing here talks to a network"),
    ("openssl-sys", "nothing here talks to a network"),
    ("tokio", "the pipeline is a pure function"),
    ("z3-sys", "other solvers are talked to over a pipe"),
];

/// What is wrong with the dependencies, and what is merely unwelcome.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) errors: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// Checks all packages.
pub(crate) fn check(packages: &[Package]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        match package.license.as_deref() {
            None => verdict.errors.push(format!("{name}: no licence is declared")),
            Some(license) if !is_allowed(license) => {
                verdict.errors.push(format!("{name}: the licence `{license}` is not allowed"));
            }
            Some(_) => {}
        }
        if let Some(source) = package.source.as_deref().filter(|source| *source != CRATES_IO) {
            verdict.errors.push(format!("{name}: comes from {source}, not from crates.io"));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == package.name) {
            verdict.errors.push(format!("{name}: not wanted, since {why}"));
        }
        versions.entry(&package.name).or_default().push(&package.version);
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        verdict.warnings.push(format!("{name}: in several versions: {}", versions.join(", ")));
    }
    verdict
}

/// Whether an SPDX expression can be fulfilled with allowed licences only: of an `OR` one side, of
/// an `AND` both. An expression that cannot be read is not allowed.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let allowed = any_of(&mut words);
    allowed == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words) -> Option<bool> {
    let mut allowed = all_of(words)?;
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all_of(words)?;
    }
    Some(allowed)
}

fn all_of(words: &mut Words) -> Option<bool> {
    let mut allowed = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words)?;
    }
    Some(allowed)
}

fn one(words: &mut Words) -> Option<bool> {
    match words.next()? {
        "(" => {
            let allowed = any_of(words)?;
            words.next_if_eq(&")").map(|_| allowed)
        }
        license => {
            // An exception only adds permissions.
            if words.next_if_eq(&"WITH").is_some() {
                words.next()?;
            }
            Some(LICENSES.contains(&license))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn license_expressions() {
        for allowed in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT", "", "MIT Apache-2.0", "OR MIT"] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn each_rule_catches_its_offender() {
        let package = |name: &str, license: &str, source: Option<&str>| Package {
            name: name.into(),
            version: "1.0.0".into(),
            license: (!license.is_empty()).then(|| license.into()),
            source: source.map(str::to_string),
            missing: Vec::new(),
            dependencies: Default::default(),
        };
        let fine = package("fine", "MIT", Some(CRATES_IO));
        assert_eq!(check(std::slice::from_ref(&fine)), Verdict::default());
        for (offender, error) in [
            (package("a", "", None), "a 1.0.0: no licence is declared"),
            (package("b", "GPL-3.0", None), "b 1.0.0: the licence `GPL-3.0` is not allowed"),
            (
                package("c", "MIT", Some("git+https://x")),
                "c 1.0.0: comes from git+https://x, not from crates.io",
            ),
            (
                package("tokio", "MIT", None),
                "tokio 1.0.0: not wanted, since the pipeline is a pure function",
            ),
        ] {
            assert_eq!(check(&[fine.clone(), offender]).errors, [error]);
        }
        let newer = Package { version: "2.0.0".into(), ..fine.clone() };
        assert_eq!(check(&[fine, newer]).warnings, ["fine: in several versions: 1.0.0, 2.0.0"]);
    }
}
