//! The engine on a real store.

mod damage;
mod engine;
mod views;
mod world;
