//! The engine on a real store.

mod engine;
mod views;
mod world;
