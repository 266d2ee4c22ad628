//! causality
