//! What programs that add the crate see of it.

mod crashes;
mod testing;
mod values;
