//! Status attributes: what a token carries with it, and how several become one again.

use std::{collections::BTreeMap, sync::Arc};

use travertine_expr::{Name, Value};

use crate::state::{Merged, Status};

/// The attribute that tells a token's own time. Where tokens merge, the latest counts.
pub const TIMESTAMP: &str = "timestamp";

/// Takes the status of one more token into the merged status of several.
///
/// The latest timestamp counts. Any other attribute keeps its value where all that define it agree,
/// and is undefined otherwise. The order of the tokens makes no difference.
pub(crate) fn fold(merged: &mut Merged, status: &Status) {
    let Some(status) = status else { return };
    for (name, value) in &**status {
        if *value == Value::Null {
            continue;
        }
        match merged.values.get_mut(name) {
            None => {
                merged.values.insert(Arc::clone(name), Some(value.clone()));
            }
            Some(None) => {}
            Some(Some(known)) if known == value => {}
            Some(slot) => {
                let later = |known: &Value| match (known, value) {
                    (Value::Number(known), Value::Number(new)) if &**name == TIMESTAMP => {
                        Some(Value::Number(*known.max(new)))
                    }
                    _ => None,
                };
                *slot = slot.as_ref().and_then(later);
            }
        }
    }
}

/// The merged status of several tokens.
pub(crate) fn merge<'a>(statuses: impl IntoIterator<Item = &'a Status>) -> Merged {
    let mut merged = Merged::default();
    for status in statuses {
        fold(&mut merged, status);
    }
    merged
}

/// `merged` as a status again, with every attribute that `like` has.
pub(crate) fn settle(merged: &Merged, like: &Status) -> Status {
    let like = like.as_ref()?;
    let mut status: BTreeMap<Name, Value> = BTreeMap::new();
    for name in like.keys() {
        let value = merged.values.get(name).cloned().flatten().unwrap_or_default();
        status.insert(Arc::clone(name), value);
    }
    Some(Arc::new(status))
}
