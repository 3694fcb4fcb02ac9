//! Every store is held to the same promises, and the embedded one to more.

mod suite;
