//! What programs that add the crate see of it.

mod arguments;
mod crashes;
mod testing;
mod values;
