//! Contexts.

use indexmap::IndexMap;
use travertine_value::Name;

use super::{
    super::{
        collection::{Context, List, short},
        problem::Reason,
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("get value(m, key)", get_value),
    ("get value(context, key)", get_value),
    ("get value(context, keys)", get_value),
    ("get entries(m)", get_entries),
    ("get entries(context)", get_entries),
    ("context(entries)", context),
    ("context put(context, keys, value)", context_put),
    ("context put(context, key, value)", context_put_one),
    ("put(context, key, value)", context_put),
    ("context merge(contexts...)", context_merge),
    ("put all(contexts...)", context_merge),
];

fn get_value(args: &mut Args<'_, '_, '_>) -> Answer {
    let context = args.context(0)?;
    let missing = |name: &str| {
        let message = format!("the context has no entry {}", short(name));
        Fault::Null(Reason::MissingEntry(name.into()), message)
    };
    match args.value(1) {
        FeelValue::String(key) => context.get(&key).ok_or_else(|| missing(&key)),
        FeelValue::List(keys) => {
            let mut value = FeelValue::Context(context);
            for key in keys.iter() {
                let FeelValue::String(key) = &key else { return Err(wrong(&key, "a string")) };
                let entry = value.as_context().and_then(|it| it.get(key));
                value = entry.ok_or_else(|| missing(key))?;
            }
            Ok(value)
        }
        other => Err(wrong(&other, "a string")),
    }
}

fn get_entries(args: &mut Args<'_, '_, '_>) -> Answer {
    let context = args.context(0)?;
    args.run.session.charge_bytes(context.len().saturating_mul(size_of::<FeelValue>() * 4))?;
    let entry = |(name, value): (&Name, FeelValue)| {
        let entries = [("key".into(), Name::clone(name).into()), ("value".into(), value)];
        FeelValue::from(entries.into_iter().collect::<Context>())
    };
    Ok(context.iter().map(entry).collect())
}

/// Each entry is a context with `key` and `value`.
fn context(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut made = IndexMap::new();
    for entry in args.list(0)?.iter() {
        let FeelValue::Context(entry) = &entry else { return Err(wrong(&entry, "a context")) };
        let key = match entry.get("key") {
            Some(FeelValue::String(key)) => key,
            Some(other) => return Err(wrong(&other, "a string as key")),
            None => return Err(Fault::argument("an entry has no key")),
        };
        let Some(value) = entry.get("value") else {
            return Err(Fault::argument(format!("the entry {} has no value", short(&key))));
        };
        if made.insert(Name::clone(&key), value).is_some() {
            return Err(Fault::argument(format!("there are two entries {}", short(&key))));
        }
    }
    Ok(Context::from(made).into())
}

/// Who names the parameter `key` has one, and `keys` is for a list.
fn context_put_one(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(1) {
        FeelValue::String(_) => context_put(args),
        other => Err(wrong(&other, "a string")),
    }
}

/// A list of keys leads to an entry of an entry.
fn context_put(args: &mut Args<'_, '_, '_>) -> Answer {
    let (context, value) = (args.context(0)?, args.value(2));
    args.run.session.charge_steps(context.len())?;
    match args.value(1) {
        FeelValue::String(key) => Ok(context.with(key, value).into()),
        FeelValue::List(keys) if !keys.is_empty() => {
            put_nested(args, context, &keys, 0, value).map(Into::into)
        }
        FeelValue::List(_) => Err(Fault::argument("there are no keys")),
        other => Err(wrong(&other, "a string or a list of strings")),
    }
}

fn put_nested(
    args: &mut Args<'_, '_, '_>,
    context: Context,
    keys: &List,
    index: usize,
    value: FeelValue,
) -> Result<Context, Fault> {
    let key = match keys.get(index) {
        Some(FeelValue::String(key)) => key,
        other => return Err(wrong(&other.unwrap_or_default(), "a string as key")),
    };
    if index + 1 == keys.len() {
        return Ok(context.with(key, value));
    }
    let inner = match context.get(&key) {
        Some(FeelValue::Context(inner)) => inner,
        None => Context::default(),
        Some(other) => return Err(wrong(&other, "a context on the way")),
    };
    args.run.session.charge_steps(inner.len())?;
    args.run.session.go_deeper()?;
    let inner = put_nested(args, inner, keys, index + 1, value)?;
    args.run.session.come_back();
    Ok(context.with(key, inner.into()))
}

fn context_merge(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut merged = IndexMap::new();
    for item in args.gathered()?.iter() {
        let FeelValue::Context(context) = item else { return Err(wrong(&item, "contexts")) };
        args.run.session.charge_steps(context.len())?;
        merged.extend(context.iter().map(|(name, value)| (Name::clone(name), value)));
    }
    Ok(Context::from(merged).into())
}
