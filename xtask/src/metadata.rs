//! What cargo knows of the packages.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::shell::{Stop, cargo, show};

/// A package with what the rules ask for.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence as an SPDX expression.
    pub(crate) license: Option<String>,
    /// The registry; `None` for packages of the workspace.
    pub(crate) source: Option<String>,
    /// What its Cargo.toml should say of it and does not.
    pub(crate) missing: Vec<&'static str>,
    /// Names of the packages that it is built with, without those of its tests.
    pub(crate) dependencies: BTreeSet<String>,
}

/// What a package says of itself.
const DESCRIBED: [&str; 5] = ["description", "license", "rust_version", "keywords", "categories"];

/// All packages of the workspace and below.
pub(crate) fn packages() -> Result<Vec<Package>, Stop> {
    let mut command = cargo("metadata --format-version 1 --locked");
    let output = command.output().map_err(|error| Stop::usage(error.to_string()))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Stop::failed(format!("`{}` FAILED\n{reason}", show(&command))));
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| Stop::failed(format!("cargo metadata is not JSON: {error}")))?;
    Ok(parse(&metadata))
}

/// The packages in what `cargo metadata` prints.
pub(crate) fn parse(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .map(|package| Package {
            name: text(&package["name"]).unwrap_or_default(),
            version: text(&package["version"]).unwrap_or_default(),
            license: text(&package["license"]),
            source: text(&package["source"]),
            missing: DESCRIBED.into_iter().filter(|field| is_empty(&package[*field])).collect(),
            dependencies: package["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
                .filter_map(|dependency| text(&dependency["name"]))
                .collect(),
        })
        .collect()
}
