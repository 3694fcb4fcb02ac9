//! REST v2.

mod deployed;
mod description;
mod instances;
mod jobs;
mod messages;
mod refusals;
mod searches;
mod tasks;
