//! Lists. Positions count from 1, and from -1 at the end.

use std::{
    cmp::Ordering,
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use travertine_value::Number;

use super::{
    super::{
        collection::List,
        eval::{compare, equal},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("list contains(list, element)", list_contains),
    ("count(list)", count),
    ("min(list...)", min),
    ("max(list...)", max),
    ("all(list...)", all),
    ("and(list...)", all),
    ("any(list...)", any),
    ("or(list...)", any),
    ("sublist(list, start position, length?)", sublist),
    ("append(list, item...)", append),
    ("concatenate(list...)", concatenate),
    ("insert before(list, position, newItem)", insert_before),
    ("remove(list, position)", remove),
    ("list replace(list, position, newItem)", list_replace),
    ("list replace(list, match, newItem)", list_replace),
    ("reverse(list)", reverse),
    ("index of(list, match)", index_of),
    ("union(list...)", union),
    ("distinct values(list)", distinct_values),
    ("duplicate values(list)", duplicate_values),
    ("flatten(list)", flatten),
    ("sort(list, precedes?)", sort),
    ("is empty(list)", is_empty),
    ("partition(list, size)", partition),
];

fn list_contains(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, element) = (args.list(0)?, args.value(1));
    for item in list.iter() {
        if args.run.is_equal(&item, &element)? == Some(true) {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn count(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.list(0)?.len().into())
}

fn min(args: &mut Args<'_, '_, '_>) -> Answer {
    extreme(args, Ordering::Less)
}

fn max(args: &mut Args<'_, '_, '_>) -> Answer {
    extreme(args, Ordering::Greater)
}

fn extreme(args: &mut Args<'_, '_, '_>, wanted: Ordering) -> Answer {
    let list = args.gathered()?;
    let mut items = list.iter();
    let Some(mut best) = items.next() else { return Err(Fault::argument("the list is empty")) };
    compare(&best, &best).ok_or_else(|| wrong(&best, "values that have an order"))?;
    for item in items {
        let order = compare(&item, &best);
        let order = order.ok_or_else(|| wrong(&item, "values that have an order"))?;
        if order == wanted {
            best = item;
        }
    }
    Ok(best)
}

fn all(args: &mut Args<'_, '_, '_>) -> Answer {
    logic(args, false)
}

fn any(args: &mut Args<'_, '_, '_>) -> Answer {
    logic(args, true)
}

fn logic(args: &mut Args<'_, '_, '_>, deciding: bool) -> Answer {
    let list = args.gathered()?;
    let mut undecided = None;
    for item in list.iter() {
        match item {
            FeelValue::Boolean(it) if it == deciding => return Ok(deciding.into()),
            FeelValue::Boolean(_) => {}
            other => undecided = Some(other),
        }
    }
    match undecided {
        Some(other) => Err(wrong(&other, "booleans")),
        None => Ok((!deciding).into()),
    }
}

/// The index of a position that counts from 1, or from -1 at the end.
fn index(position: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(position.unsigned_abs()).ok()?;
    let index = match position {
        1.. => distance - 1,
        0 => return None,
        _ => length.checked_sub(distance)?,
    };
    (index < length).then_some(index)
}

fn no_position(position: i64, list: &List) -> Fault {
    Fault::argument(format!("the list of {} has no position {position}", list.len()))
}

fn sublist(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, position) = (args.list(0)?, args.integer(1)?);
    let start = index(position, list.len()).ok_or_else(|| no_position(position, &list))?;
    let end = if args.is_given(2) {
        let length = usize::try_from(args.integer(2)?).ok();
        let end = length.and_then(|it| start.checked_add(it)).filter(|it| *it <= list.len());
        end.ok_or_else(|| Fault::argument("the list is too short"))?
    } else {
        list.len()
    };
    Ok(list.iter().skip(start).take(end - start).collect())
}

fn append(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut items = args.list(0)?.into_vec();
    items.extend(args.all().into_iter().skip(1));
    Ok(items.into())
}

fn lists(args: &mut Args<'_, '_, '_>) -> Result<Vec<FeelValue>, Fault> {
    let mut items = Vec::new();
    for position in 0..args.all().len() {
        items.extend(args.list(position)?.iter());
    }
    Ok(items)
}

fn concatenate(args: &mut Args<'_, '_, '_>) -> Answer {
    lists(args).map(Into::into)
}

fn insert_before(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, position, item) = (args.list(0)?, args.integer(1)?, args.value(2));
    let at = index(position, list.len()).ok_or_else(|| no_position(position, &list))?;
    let mut items = list.into_vec();
    items.insert(at, item);
    Ok(items.into())
}

fn remove(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, position) = (args.list(0)?, args.integer(1)?);
    let at = index(position, list.len()).ok_or_else(|| no_position(position, &list))?;
    let mut items = list.into_vec();
    items.remove(at);
    Ok(items.into())
}

/// The item at a position, or every item that a function chooses.
fn list_replace(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, new) = (args.list(0)?, args.value(2));
    if let FeelValue::Number(_) = args.value(1) {
        let position = args.integer(1)?;
        let at = index(position, list.len()).ok_or_else(|| no_position(position, &list))?;
        let mut items = list.into_vec();
        items[at] = new;
        return Ok(items.into());
    }
    let chooses = args.function(1)?;
    let mut items = list.into_vec();
    for item in &mut items {
        let arguments = vec![item.clone(), new.clone()];
        match args.run.apply_checked(&chooses, arguments, args.at)? {
            FeelValue::Boolean(true) => *item = new.clone(),
            FeelValue::Boolean(false) => {}
            other => return Err(wrong(&other, "a function that gives a boolean")),
        }
    }
    Ok(items.into())
}

fn reverse(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.list(0)?.iter().rev().collect())
}

fn index_of(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, element) = (args.list(0)?, args.value(1));
    let mut positions = Vec::new();
    for (index, item) in list.iter().enumerate() {
        if args.run.is_equal(&item, &element)? == Some(true) {
            positions.push((index + 1).into());
        }
    }
    Ok(positions.into())
}

/// Values seen so far, and how often. Most are found at once; only those that can be equal without being
/// written alike, such as dates, are compared one by one.
#[derive(Default)]
struct Counted {
    simple: HashMap<Simple, usize>,
    /// By what equal ones have in common.
    others: HashMap<u64, Vec<(FeelValue, usize)>>,
}

/// A number that equal values have in common. Counts how much was looked at for it.
fn likeness(value: &FeelValue, looked_at: &mut usize) -> u64 {
    *looked_at += 1;
    let mut hasher = DefaultHasher::new();
    match value {
        FeelValue::Null => 0_u8.hash(&mut hasher),
        FeelValue::Boolean(it) => (1_u8, it).hash(&mut hasher),
        FeelValue::Number(it) => (2_u8, it).hash(&mut hasher),
        FeelValue::String(it) => {
            *looked_at += it.len() / 64;
            (3_u8, it).hash(&mut hasher);
        }
        // It stands for its item.
        FeelValue::List(list) if list.len() == 1 => {
            return likeness(&list.get(0).unwrap_or_default(), looked_at);
        }
        FeelValue::List(list) => {
            4_u8.hash(&mut hasher);
            list.iter().for_each(|it| likeness(&it, looked_at).hash(&mut hasher));
        }
        FeelValue::Context(context) => {
            let entries = context.iter().map(|(name, it)| {
                let mut entry = DefaultHasher::new();
                (name, likeness(&it, looked_at)).hash(&mut entry);
                entry.finish()
            });
            // In whatever order they are.
            (5_u8, entries.fold(0, u64::wrapping_add)).hash(&mut hasher);
        }
        FeelValue::Date(_)
        | FeelValue::Time(_)
        | FeelValue::DateTime(_)
        | FeelValue::DaysDuration(_)
        | FeelValue::YearsDuration(_)
        | FeelValue::Range(_)
        | FeelValue::Function(_) => 6_u8.hash(&mut hasher),
    }
    hasher.finish()
}

#[derive(PartialEq, Eq, Hash)]
enum Simple {
    Null,
    Boolean(bool),
    Number(Number),
    String(Arc<str>),
}

impl Counted {
    /// How often the value was there before.
    fn add(&mut self, args: &mut Args<'_, '_, '_>, value: &FeelValue) -> Result<usize, Fault> {
        let count = match value {
            FeelValue::Null => self.simple.entry(Simple::Null).or_default(),
            FeelValue::Boolean(it) => self.simple.entry(Simple::Boolean(*it)).or_default(),
            FeelValue::Number(it) => self.simple.entry(Simple::Number(*it)).or_default(),
            FeelValue::String(it) => {
                args.run.session.charge_steps(it.len() / 64)?;
                self.simple.entry(Simple::String(Arc::clone(it))).or_default()
            }
            other => {
                let mut looked_at = 0;
                let like = self.others.entry(likeness(other, &mut looked_at)).or_default();
                args.run.session.charge_steps(looked_at + like.len() / 4)?;
                let known = like.iter().position(|(it, _)| equal(it, other) == Some(true));
                let at = known.unwrap_or_else(|| {
                    like.push((other.clone(), 0));
                    like.len() - 1
                });
                &mut like[at].1
            }
        };
        *count += 1;
        Ok(*count - 1)
    }
}

/// The items that `choose` takes by how often they were there before, in order.
fn chosen(
    args: &mut Args<'_, '_, '_>,
    items: impl IntoIterator<Item = FeelValue>,
    choose: impl Fn(usize) -> bool,
) -> Answer {
    let mut counted = Counted::default();
    let mut kept = Vec::new();
    for item in items {
        if choose(counted.add(args, &item)?) {
            kept.push(item);
        }
    }
    Ok(kept.into())
}

fn union(args: &mut Args<'_, '_, '_>) -> Answer {
    let items = lists(args)?;
    chosen(args, items, |before| before == 0)
}

fn distinct_values(args: &mut Args<'_, '_, '_>) -> Answer {
    let list = args.list(0)?;
    chosen(args, list.iter(), |before| before == 0)
}

/// In the order in which they were there first.
fn duplicate_values(args: &mut Args<'_, '_, '_>) -> Answer {
    let list = args.list(0)?;
    let mut counted = Counted::default();
    for item in list.iter() {
        counted.add(args, &item)?;
    }
    let mut kept = Vec::new();
    let mut seen = Counted::default();
    for item in list.iter() {
        if seen.add(args, &item)? == 0 && counted.add(args, &item)? > 1 {
            kept.push(item);
        }
    }
    Ok(kept.into())
}

fn flatten(args: &mut Args<'_, '_, '_>) -> Answer {
    let list = args.list(0)?;
    let mut items = Vec::new();
    // The lists that are being read, with how far; nesting costs no stack.
    let mut open = vec![(list, 0)];
    while let Some((list, next)) = open.pop() {
        args.run.session.charge_steps(1)?;
        let Some(item) = list.get(next) else { continue };
        open.push((list, next + 1));
        match item {
            FeelValue::List(inner) => open.push((inner, 0)),
            other => {
                args.run.session.charge_bytes(size_of::<FeelValue>())?;
                items.push(other);
            }
        }
    }
    Ok(items.into())
}

/// Merges sorted halves: stable, and the same whatever the function says.
fn sort(args: &mut Args<'_, '_, '_>) -> Answer {
    let items = args.list(0)?.into_vec();
    let precedes = if args.is_given(1) { Some(args.function(1)?) } else { None };
    let mut source = items;
    let mut width = 1;
    while width < source.len() {
        let mut merged = Vec::with_capacity(source.len());
        for chunk in source.chunks(width * 2) {
            let (left, right) = chunk.split_at(width.min(chunk.len()));
            let (mut i, mut j) = (0, 0);
            while i < left.len() && j < right.len() {
                args.run.session.charge_steps(1)?;
                let takes_right = match &precedes {
                    Some(function) => {
                        let pair = vec![right[j].clone(), left[i].clone()];
                        let answer = args.run.apply_checked(function, pair, args.at)?;
                        let is_before = answer.as_bool();
                        is_before
                            .ok_or_else(|| wrong(&answer, "a function that gives a boolean"))?
                    }
                    None => compare(&right[j], &left[i])
                        .ok_or_else(|| wrong(&right[j], "values that have an order"))?
                        .is_lt(),
                };
                if takes_right {
                    merged.push(right[j].clone());
                    j += 1;
                } else {
                    merged.push(left[i].clone());
                    i += 1;
                }
            }
            merged.extend_from_slice(&left[i..]);
            merged.extend_from_slice(&right[j..]);
        }
        source = merged;
        width *= 2;
    }
    Ok(source.into())
}

fn is_empty(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0) {
        FeelValue::Context(context) => Ok(context.is_empty().into()),
        _ => Ok(args.list(0)?.is_empty().into()),
    }
}

fn partition(args: &mut Args<'_, '_, '_>) -> Answer {
    let (list, size) = (args.list(0)?, args.number(1)?);
    if size < Number::from(1) {
        return Err(Fault::argument("the size must be at least 1"));
    }
    let size = usize::try_from(args.integer(1)?).unwrap_or(usize::MAX);
    Ok(list.into_vec().chunks(size).map(|it| FeelValue::from(it.to_vec())).collect())
}
