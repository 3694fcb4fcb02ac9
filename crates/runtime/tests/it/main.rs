//! The engine on a real store.

mod activation;
mod address;
mod apart;
mod child;
mod code;
mod copy;
mod damage;
mod decisions;
mod engine;
mod events;
mod function;
mod function_review;
mod halted;
mod interop;
mod lifecycle;
mod limits;
mod measure;
mod paging;
mod recovery;
mod refused;
mod rest;
mod row;
mod schedule;
mod update;
mod views;
mod world;
