//! The constraints of inline assembly as LLVM writes them: `=r,=*m,0,*m,~{memory}`.

/// Where an operand is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In memory; the argument is its address.
    Memory,
    /// In a register that the compiler chooses, or written into the text as a number.
    Any,
    /// In this register.
    Register(String),
    /// Where the output of this number is.
    SameAs(usize),
    /// In the processor's flags: the condition (`z`, `c`, …) is what is wanted.
    Flag(String),
}

/// One operand. The text calls them by their numbers: outputs first, then inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Operand {
    pub(super) is_output: bool,
    pub(super) place: Place,
}

impl Operand {
    /// Whether the call passes an argument for it. The other operands are results.
    pub(super) fn is_argument(&self) -> bool {
        !self.is_output || self.place == Place::Memory
    }
}

/// All constraints of one piece of assembly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Constraints {
    pub(super) operands: Vec<Operand>,
    /// The registers, and `memory`, that it changes besides.
    pub(super) clobbers: Vec<String>,
}

impl Constraints {
    /// `None` if there is one of another kind, such as a label.
    pub(super) fn parse(text: &str) -> Option<Constraints> {
        let mut constraints = Constraints { operands: Vec::new(), clobbers: Vec::new() };
        for one in split(text) {
            if let Some(clobber) = one.strip_prefix('~') {
                constraints.clobbers.push(name_of(clobber)?.to_string());
            } else {
                constraints.operands.push(operand(one)?);
            }
        }
        Some(constraints)
    }

    pub(super) fn clobber_memory(&self) -> bool {
        self.clobbers.iter().any(|one| one == "memory")
    }

    pub(super) fn have_memory(&self) -> bool {
        self.operands.iter().any(|one| one.place == Place::Memory)
    }
}

/// Splits at the commas that are not inside braces.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn operand(text: &str) -> Option<Operand> {
    let (text, is_output) = match text.strip_prefix('=') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let text = text.trim_start_matches(['&', '%']);
    if text.starts_with('!') {
        return None;
    }
    let place = if let Some(rest) = text.strip_prefix('*') {
        // One that is tied to another output, or in a register in truth, is somebody else's puzzle.
        if !rest.contains(['m', 'o', 'V', 'Q']) {
            return None;
        }
        Place::Memory
    } else if let Some(name) = name_of(text) {
        match name.strip_prefix("@cc") {
            Some(condition) => Place::Flag(condition.to_string()),
            None => Place::Register(name.to_string()),
        }
    } else if let Ok(number) = text.parse() {
        Place::SameAs(number)
    } else {
        Place::Any
    };
    Some(Operand { is_output, place })
}

/// What stands between braces.
fn name_of(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}
