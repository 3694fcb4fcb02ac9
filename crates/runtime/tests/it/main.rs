//! The engine on a real store.

mod apart;
mod child;
mod code;
mod damage;
mod engine;
mod events;
mod function;
mod function_review;
mod interop;
mod lifecycle;
mod limits;
mod refused;
mod schedule;
mod update;
mod views;
mod world;
