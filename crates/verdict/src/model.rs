//! How much of the recorded run other schedules keep.

/// How strictly another schedule must reproduce what the recorded reads saw.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Every read sees the same write as recorded.
    ReadsFrom,
    /// Every read sees the same value as recorded.
    Values,
    /// A read sees what is there; what is computed from it keeps the recorded path.
    Symbolic,
    /// What is read is free, and so is every branch: findings are only possible.
    Control,
}

impl Model {
    /// All models, each of which allows every schedule that the one before it allows.
    pub const ALL: [Model; 4] = [Model::ReadsFrom, Model::Values, Model::Symbolic, Model::Control];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Model::ReadsFrom => "reads-from",
            Model::Values => "values",
            Model::Symbolic => "symbolic",
            Model::Control => "control",
        }
    }

    /// Whether the contents of memory are identified by their values, not by who wrote them.
    pub fn compares_values(self) -> bool {
        self != Model::ReadsFrom
    }
}
