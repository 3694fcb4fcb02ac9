//! The engine on a real store.

mod damage;
mod engine;
mod events;
mod function;
mod views;
mod world;
