//! Seeded faults in where threads can have got what they have seen.

use foretrace_model::Origins;

use super::{Fault, is_seeded};

/// Spoils the origins if a fault about them is seeded.
pub(crate) fn spoil_origins(origins: &mut Origins) {
    if is_seeded(Fault::OriginForgotten) {
        for sources in origins.origins.iter_mut().filter_map(|origin| origin.sources.as_mut()) {
            sources.truncate(sources.len().saturating_sub(1).max(1));
        }
    }
    if is_seeded(Fault::DemandAtRead) {
        for (event, origin) in &mut origins.demands {
            *event = origins.origins[*origin as usize].read;
        }
        origins.demands.sort_unstable();
    }
}
