//! What can be asked.

use serde::{Deserialize, Serialize};

/// The families of properties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Data races.
    Race,
    /// Three-access atomicity violations.
    Atomicity,
    /// Lock cycles and stuck states.
    Deadlock,
    /// Misuse of locks.
    Lock,
    /// Assertions.
    Assertion,
}

impl Property {
    /// The one of this name.
    pub fn of_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// All of them, in the order of reports.
    pub const ALL: [Property; 5] = [
        Property::Race,
        Property::Atomicity,
        Property::Deadlock,
        Property::Lock,
        Property::Assertion,
    ];

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Property::Race => "race",
            Property::Atomicity => "atomicity",
            Property::Deadlock => "deadlock",
            Property::Lock => "lock",
            Property::Assertion => "assertion",
        }
    }
}

/// What kind of bug it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two conflicting accesses at once.
    Race,
    /// An access of another thread inside an atomic region.
    Atomicity,
    /// Each thread wants a lock that the following one has.
    LockCycle,
    /// Nobody can go on, and a thread waits for ever.
    Stuck,
    /// A thread takes a lock that it has.
    DoubleLock,
    /// A thread releases a lock that nobody has.
    UnlockNotHeld,
    /// A thread releases a lock that another one has.
    UnlockByOther,
    /// A lock is destroyed while somebody has it.
    DestroyHeld,
    /// An assertion fails.
    Assertion,
}

impl Kind {
    /// The name in reports; ids and fingerprints begin with it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::Atomicity => "atomicity",
            Kind::LockCycle => "lock-cycle",
            Kind::Stuck => "stuck",
            Kind::DoubleLock => "double-lock",
            Kind::UnlockNotHeld => "unlock-not-held",
            Kind::UnlockByOther => "unlock-by-other",
            Kind::DestroyHeld => "destroy-held",
            Kind::Assertion => "assertion",
        }
    }

    /// The family that it belongs to.
    pub fn property(self) -> Property {
        match self {
            Kind::Race => Property::Race,
            Kind::Atomicity => Property::Atomicity,
            Kind::LockCycle | Kind::Stuck => Property::Deadlock,
            Kind::DoubleLock | Kind::UnlockNotHeld | Kind::UnlockByOther | Kind::DestroyHeld => {
                Property::Lock
            }
            Kind::Assertion => Property::Assertion,
        }
    }
}

/// How much a witness proves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The execution exists.
    Real,
    /// It exists if what unrecorded code wrote does not depend on the schedule; under `control`, if
    /// data do not matter.
    Possible,
}
