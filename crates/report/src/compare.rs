//! Which models find what.

use serde::Serialize;

use crate::Kind;

/// Findings under several models.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The models; each allows every schedule that the one before it allows.
    pub models: Vec<ComparedModel>,
    /// What some of them find.
    pub rows: Vec<Compared>,
}

/// One of the models that are compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ComparedModel {
    /// Its name.
    pub model: String,
    /// How many candidates it left open.
    pub undecided: u64,
}

/// One bug, and which models find it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// Its id in this report, if the model of the report finds it.
    pub id: Option<String>,
    /// What kind of bug it is.
    pub kind: Kind,
    /// What it is about.
    pub object: Option<String>,
    /// Where it is.
    pub places: Vec<String>,
    /// What each model says, in the order of [`Comparison::models`].
    pub verdicts: Vec<ModelVerdict>,
}

/// What a model says of a bug that some model finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelVerdict {
    /// It can happen.
    Real,
    /// It may happen.
    Possible,
    /// It was left open.
    Undecided,
    /// No schedule of this model leads to it.
    NotFound,
}

impl ModelVerdict {
    fn finds(self) -> bool {
        matches!(self, ModelVerdict::Real | ModelVerdict::Possible)
    }
}

impl Comparison {
    /// The model that finds a bug and allows the fewest schedules: an index.
    pub(crate) fn first(&self, row: &Compared) -> Option<usize> {
        row.verdicts.iter().position(|verdict| verdict.finds())
    }
}

impl Compared {
    /// `race on x at a.c:1, a.c:2`
    pub(crate) fn in_words(&self) -> String {
        let mut words = self.kind.name().to_string();
        if let Some(object) = &self.object {
            words.push_str(&format!(" on {object}"));
        }
        if !self.places.is_empty() {
            words.push_str(&format!(" at {}", self.places.join(", ")));
        }
        words
    }
}
