//! What a recorded process had loaded: the code of its modules, and its variables.

/// All of it.
#[derive(Clone, Default, Debug)]
pub struct Loaded {
    pub modules: Vec<Module>,
    /// By address; none overlaps another.
    pub variables: Vec<Variable>,
}

/// A module that was compiled for recording.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its strings, each ended by a NUL.
    pub strings: Vec<u8>,
    /// Its functions, encoded.
    pub image: Vec<u8>,
    /// The addresses that the image names.
    pub symbols: Vec<u64>,
    /// Where each site is in the source, as plans know it.
    pub places: Vec<String>,
}

/// A global variable or constant.
#[derive(Clone, Debug)]
pub struct Variable {
    pub address: u64,
    pub size: u64,
    pub name: String,
    /// Whether nobody can write to it.
    pub is_constant: bool,
    /// What it held before the program began, if that is known.
    pub bytes: Option<Vec<u8>>,
}
