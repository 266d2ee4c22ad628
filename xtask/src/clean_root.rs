//! `clean-root`: installs the Debian package, and unpacks the archive, in a fresh Debian that has
//! nothing else, and goes there from installation to a confirmed bug.
//!
//! **Computes.** mmdebstrap makes the smallest Debian that has apt, in a folder of its own that is
//! gone afterwards. While it still has the network of this machine, `try.sh` runs in it, beside a
//! program of a user with its Makefile. The script installs the package as users do, and checks
//! what it promises: `doctor` finds nothing missing, the example that the package brings has a
//! confirmed bug, and so has the user's program of which only `CC` was changed. The jobs of CI then
//! install the package by themselves and find that bug, too.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::package;
use crate::shell::{Stop, output, run, target_folder};
use crate::tools;

/// What runs in the fresh Debian; the program of a user, and what runs the jobs of CI that
/// `foretrace ci init` writes for it, are those of the recipes' test.
const FILES: [(&str, &str); 6] = [
    ("try.sh", include_str!("clean_root/try.sh")),
    ("job.py", include_str!("../../crates/cli/tests/recipes/job.py")),
    ("shop/Makefile", include_str!("../../crates/cli/tests/recipes/shop/Makefile")),
    ("shop/stock.h", include_str!("../../crates/cli/tests/recipes/shop/stock.h")),
    ("shop/stock.c", include_str!("../../crates/cli/tests/recipes/shop/stock.c")),
    ("shop/main.c", include_str!("../../crates/cli/tests/recipes/shop/main.c")),
];

/// Makes package and archive and tries both. It returns how many things were tried.
pub(crate) fn clean_root() -> Result<u64, Stop> {
    tools::ensure_for_clean_root()?;
    let made = package::dist()?;
    let folder = target_folder().join("clean-root");
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in FILES {
        package::write(&folder.join(name), text)?;
    }
    package::copy(&made.package, &folder.join("foretrace.deb"))?;
    package::copy(&made.archive, &folder.join("foretrace.tar.gz"))?;
    run("clean root", &mut fresh_debian(&folder)?)?;
    Ok(3)
}

/// The command that makes a fresh Debian of this machine's release and runs the script in it.
fn fresh_debian(folder: &Path) -> Result<Command, Stop> {
    let mut release = Command::new("sh");
    let release = release.args(["-c", ". /etc/os-release && echo \"$VERSION_CODENAME\""]);
    let release = output("release of this machine", release)?;
    let mut command = Command::new("mmdebstrap");
    command.args(["--variant=minbase", "--format=null", "--aptopt=Acquire::Retries \"3\""]);
    command.arg(format!("--customize-hook=copy-in '{}' /opt", folder.display()));
    command.arg("--customize-hook=chroot \"$1\" sh -eu /opt/clean-root/try.sh");
    command.args([&release, "/dev/null"]);
    Ok(command)
}
