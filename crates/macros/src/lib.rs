//! The attributes of durable functions: `#[workflow]`, `#[activity]` and `#[derive(Event)]`.
//!
//! A program uses them through the crate `travertine`, and what they write names that crate. Each is read
//! (`options.rs`, `function.rs`), refused with an error that says what to write instead, or written anew as the
//! function that describes a call, with its registration. What a definition is belongs to `travertine-func`.

#![forbid(unsafe_code)]

mod activity;
mod duration;
mod event;
mod function;
mod options;
mod retry;
mod workflow;

use proc_macro::TokenStream;

/// Makes an async function a workflow: one that survives the process it runs in.
///
/// ```
/// # use std::time::Duration;
/// # use travertine::{Context, Flow};
/// # use travertine_macros::workflow;
/// #[workflow]
/// async fn remind(cx: Context, who: String) -> Flow<String> {
///     cx.sleep(Duration::from_hours(24)).await?;
///     Ok(format!("{who}, it is tomorrow"))
/// }
///
/// assert_eq!(remind("Ann".into()).name(), "remind");
/// ```
///
/// What is left under its name is a plain function of the same parameters without the context, which describes a
/// call and runs nothing: `engine.start(remind(who))`, `cx.child(remind(who))`. The function itself is registered, and
/// the engine runs it.
///
/// | option | meaning |
/// |---|---|
/// | `name = "order"` | what it is called where it is stored; the function's name unless given. Instances look for it under this name, so keep it when you rename the function |
/// | `version = 2` | the version of the definition, from 1 on; 1 unless given |
/// | `crate = path` | where the crate `travertine` is, if not at `::travertine` |
///
/// Arguments are stored under the names of their parameters, a leading `_` aside.
#[proc_macro_attribute]
pub fn workflow(options: TokenStream, item: TokenStream) -> TokenStream {
    workflow::expand(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes an async function an activity: work that a workflow asks for, which may do anything and is tried again
/// where it fails.
///
/// ```
/// # use travertine::{ActivityContext, Failure};
/// # use travertine_macros::activity;
/// #[activity(retry = exponential("100ms", 2.0, max = 5), timeout = "30s")]
/// async fn charge(cx: ActivityContext, card: String, cents: u64) -> Result<String, Failure> {
///     Ok(format!("{cents} from {card} for {}", cx.idempotency_key()))
/// }
///
/// assert_eq!(charge("7".into(), 1_200).options().retry.attempts, 5);
/// ```
///
/// What is left under its name is a plain function of the same parameters without the context, which describes a
/// call and runs nothing: `cx.call(charge(card, cents)).await?`. The context may be left out. The future must be
/// `Send`, because any worker may run it.
///
/// | option | meaning |
/// |---|---|
/// | `name = "charge"` | what it is called where it is stored; the function's name unless given |
/// | `retry = exponential("100ms", 2.0, max = 5)` | tried 5 times at most, 100 ms after the first failure, and each time twice as long after the one before; `max_delay = "1m"` is the longest pause |
/// | `retry = fixed("1s", max = 3)` | tried 3 times at most, 1 s apart |
/// | `retry = never` | tried once |
/// | `timeout = "30s"` | how long one attempt may take |
/// | `deadline = "1h"` | how long all attempts may take together |
/// | `heartbeat = "10s"` | how long it may be silent before it counts as lost |
/// | `limit = "bank"` | the class of the limit that all its calls keep together |
/// | `crate = path` | where the crate `travertine` is, if not at `::travertine` |
///
/// Time spans are whole numbers with one of the units `ms`, `s`, `m`, `h`, `d`. Without `retry` it is tried 3 times,
/// as with `exponential("100ms", 2.0, max = 3)`.
#[proc_macro_attribute]
pub fn activity(options: TokenStream, item: TokenStream) -> TokenStream {
    activity::expand(options.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a type an event that workflows wait for and anyone may send.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use travertine::Event;
/// # use travertine_macros::Event;
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "order.cancel", consume = "one", delivery = "after_create", expire_after = "7d")]
/// struct CancelOrder { reason: String }
///
/// assert_eq!(CancelOrder::NAME, "order.cancel");
/// ```
///
/// | option | meaning |
/// |---|---|
/// | `name = "order.cancel"` | what it is called where it is stored; the type's name in kebab case unless given: `cancel-order` |
/// | `consume = "one"`, `"all"` | who gets one that is sent: the first that waits, or everyone who does |
/// | `delivery = "after_wait"`, `"after_create"`, `"all"` | to whom: only who waits already, also who exists already and waits later, or also who comes to exist later |
/// | `expire_after = "7d"` | how long one is kept for those who wait later |
/// | `crate = path` | where the crate `travertine` is, if not at `::travertine` |
#[proc_macro_derive(Event, attributes(event))]
pub fn event(item: TokenStream) -> TokenStream {
    event::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
