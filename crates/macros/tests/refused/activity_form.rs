#![allow(unused_imports)]

use travertine::{ActivityContext, Context, Failure, Flow};
use travertine_macros::activity;

#[activity]
fn not_async() -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn context_is_borrowed(cx: &ActivityContext) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn context_is_last(n: u64, cx: ActivityContext) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn durable(cx: Context) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn durable_too(cx: ActivityContext, other: Context) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn generic<T>(it: T) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn borrows(it: &String) -> Result<(), Failure> {
    Ok(())
}

#[activity]
async fn returns_nothing() {}

#[activity]
async fn returns_a_flow() -> Flow<()> {
    Ok(())
}

#[activity]
async fn returns_another_error() -> Result<(), std::io::Error> {
    Ok(())
}

#[activity]
async fn takes_apart([a, b]: [u8; 2]) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
