#![allow(unused_imports)]

use travertine::{Context, Failure, Flow, Stop};
use travertine_macros::workflow;

#[workflow]
fn not_async(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn without_context() -> Flow<()> {
    Ok(())
}

#[workflow]
async fn context_is_missing(n: u64) -> Flow<u64> {
    Ok(n)
}

#[workflow]
async fn context_is_borrowed(cx: &Context) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn context_twice(cx: Context, other: Context) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn generic<T: Clone>(cx: Context, it: T) -> Flow<T> {
    Ok(it)
}

#[workflow]
async fn lifetimes<'a>(cx: Context, it: std::borrow::Cow<'a, str>) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn borrows(cx: Context, text: &str, all: &[u8], some: Option<&mut u8>) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn any(cx: Context, it: impl Clone) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn patterns(cx: Context, (a, b): (u8, u8), _: u8, ref c: u8) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn same_name(cx: Context, n: u8, _n: u8) -> Flow<()> {
    Ok(())
}

#[workflow]
async fn returns_nothing(cx: Context) {}

#[workflow]
async fn returns_a_value(cx: Context) -> u64 {
    1
}

#[workflow]
async fn returns_a_failure(cx: Context) -> Result<u64, Failure> {
    Ok(1)
}

#[workflow]
async fn returns_a_flow_of_nothing(cx: Context) -> Flow {
    Ok(())
}

#[workflow]
async fn returns_a_reference(cx: Context) -> Result<&'static str, Stop> {
    Ok("")
}

#[workflow]
const fn constant(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow]
async unsafe extern "C" fn foreign(cx: Context) -> Flow<()> {
    Ok(())
}

#[workflow]
fn everything<T>(self, &it: &T) -> impl Sized {}

#[workflow]
struct NoFunction;

#[workflow]
async fn without_body(cx: Context) -> Flow<()>;

struct Shop;

impl Shop {
    #[workflow]
    async fn method(&self, cx: Context) -> Flow<()> {
        Ok(())
    }
}

fn main() {}
