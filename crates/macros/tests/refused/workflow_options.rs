#![allow(unused_imports)]

use travertine::{Context, Flow};
use travertine_macros::workflow;

#[workflow(title = "order")]
async fn unknown(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(version = 0)]
async fn zero(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(version = "2")]
async fn text(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(version = 4294967296)]
async fn large(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(name = "")]
async fn empty(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(name = "order/2")]
async fn sign(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(name = order)]
async fn no_text(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow("order")]
async fn no_option(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow(name = "a", version = 1, name = "b")]
async fn twice(cx: Context) -> Flow<()> {
    Ok(())
}

fn main() {}
