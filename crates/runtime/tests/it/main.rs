//! The engine on a real store.

mod engine;
mod world;
