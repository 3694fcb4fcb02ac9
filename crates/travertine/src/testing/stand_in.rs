//! Closures in the place of activities.

use std::future::Future;

use serde::{Serialize, de::DeserializeOwned};
use travertine_func::{Arguments, BoxFuture, Failure, encode};

use crate::Value;

/// A closure that stands in for an activity: it takes the arguments of the activity in their order,
/// up to six, and answers as the activity would.
///
/// ```
/// # use travertine::{Context, Failure, Flow, activity, workflow};
/// # use travertine::testing::{Setup, StandIn};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[activity]
/// # async fn price_in(shop: u32, item: String) -> Result<u64, Failure> { Err(Failure::terminal("offline", item)) }
/// # #[workflow]
/// # async fn shopping(cx: Context) -> Flow<u64> { Ok(cx.call(price_in(1, "pot".into())).await?) }
/// /// What a pot costs everywhere.
/// fn always(cents: u64) -> impl StandIn<(u32, String)> {
///     move |_: u32, _: String| async move { Ok(cents) }
/// }
/// let env = Setup::new().activity("price_in", always(1_200)).open();
/// assert_eq!(env.start("a", shopping()).await?.result().await?, 1_200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait StandIn<A>: Send + Sync + 'static {
    /// One attempt.
    #[doc(hidden)] // Only `Setup::activity` calls it.
    fn attempt(
        &self,
        name: &str,
        arguments: Arguments,
    ) -> BoxFuture<'static, Result<Value, Failure>>;
}

/// Arguments in their order.
trait Taken: Sized {
    fn taken(arguments: &mut Arguments) -> Result<Self, Failure>;
}

fn taken<T: Taken>(name: &str, mut arguments: Arguments) -> Result<T, Failure> {
    let taken = T::taken(&mut arguments)?;
    let Some((extra, _)) = arguments.values().first() else { return Ok(taken) };
    let text = format!("what stands in for `{name}` does not take `{extra}`");
    Err(Failure::terminal(Failure::DECODE, text))
}

impl Taken for () {
    fn taken(_: &mut Arguments) -> Result<Self, Failure> {
        Ok(())
    }
}

macro_rules! taken {
    ($($type:ident),+) => {
        impl<$($type: DeserializeOwned),+> Taken for ($($type,)+) {
            fn taken(arguments: &mut Arguments) -> Result<Self, Failure> {
                Ok(($(arguments.take_next::<$type>()?,)+))
            }
        }
    };
}

taken!(A);
taken!(A, B);
taken!(A, B, C);
taken!(A, B, C, D);
taken!(A, B, C, D, E);
taken!(A, B, C, D, E, G);

macro_rules! stand_in {
    ($($type:ident $argument:ident),*) => {
        impl<F, R, O, $($type),*> StandIn<($($type,)*)> for F
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
            R: Future<Output = Result<O, Failure>> + Send + 'static,
            O: Serialize,
            $($type: DeserializeOwned,)*
        {
            fn attempt(
                &self,
                name: &str,
                arguments: Arguments,
            ) -> BoxFuture<'static, Result<Value, Failure>> {
                let name = name.to_owned();
                let called = taken(&name, arguments).map(|($($argument,)*)| self($($argument),*));
                Box::pin(async move { encode(&name, &called?.await?) })
            }
        }
    };
}

stand_in!();
stand_in!(A a);
stand_in!(A a, B b);
stand_in!(A a, B b, C c);
stand_in!(A a, B b, C c, D d);
stand_in!(A a, B b, C c, D d, E e);
stand_in!(A a, B b, C c, D d, E e, G g);
