//! What FEEL means, by area.
