//! Places for what has none: from left to right in layers, with lines along the axes.
//!
//! `container` lays out a process or sub-process and all that lies in it, `pools` puts pools below
//! each other. Both leave the geometry to `graph`, which knows boxes and arcs and no BPMN: `layers`
//! says which boxes stand in one column, `order` in which order, `place` where exactly, and `route`
//! how lines run between them; `aside` leads messages and data around what is in their way.

mod artifact;
mod aside;
mod container;
mod graph;
mod layers;
mod order;
mod place;
mod pools;
mod route;
#[cfg(test)]
mod tests;

pub(crate) use pools::{collaboration, process};
