//! The rules of the sandbox, one test each.
