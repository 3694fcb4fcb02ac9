#![allow(unused_imports)]

use serde::{Deserialize, Serialize};
use travertine_macros::Event;

#[derive(Serialize, Deserialize, Event)]
struct Generic<T> {
    it: T,
}

#[derive(Serialize, Event)]
struct Borrows<'a> {
    it: &'a str,
}

#[derive(Serialize, Deserialize, Event)]
#[event(title = "x")]
struct Unknown;

#[derive(Serialize, Deserialize, Event)]
#[event(name = "")]
struct Empty;

#[derive(Serialize, Deserialize, Event)]
#[event(consume = "two")]
struct Two;

#[derive(Serialize, Deserialize, Event)]
#[event(delivery = "before")]
struct Before;

#[derive(Serialize, Deserialize, Event)]
#[event(expire_after = "1w")]
struct Week;

#[derive(Serialize, Deserialize, Event)]
#[event(name = "a")]
#[event(name = "b")]
struct Twice;

fn main() {}
