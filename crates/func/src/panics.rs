//! Panics of users' code become words.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs code of a user. A panic is answered with its text and place, and printed nowhere.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    quietly(run).map_err(|text| {
        let place = PLACE.take().map(|it| format!(" at {it}")).unwrap_or_default();
        format!("the code panicked{place}: {text}")
    })
}

/// Runs what may panic. A panic is answered with its text, and printed nowhere.
#[doc(hidden)] // For the runtime, which reads entries that may be damaged.
pub fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    install();
    let outer = CATCHING.replace(true);
    let answer = panic::catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(outer);
    answer.map_err(|payload| text(&*payload).to_owned())
}

/// The place of a panic is known only to the hook of the whole program. Ours asks whether it is
/// meant, and passes all others on.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.try_with(Cell::get).unwrap_or(false) {
                let place = info.location().map(ToString::to_string);
                PLACE.with(|it| it.replace(place));
            } else {
                before(info);
            }
        }));
    });
}

fn text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "without a text"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_text_and_place() {
        assert_eq!(catch(|| 5), Ok(5));
        let text = catch(|| panic!("no {}", "way")).unwrap_err();
        assert!(text.starts_with("the code panicked at ") && text.ends_with(": no way"), "{text}");
        assert!(text.contains("panics.rs:"), "{text}");
    }
}
