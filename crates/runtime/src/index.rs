//! Finds what may correlate without looking at everything of a name.

use std::collections::{BTreeMap, BTreeSet};

use travertine_kernel::{Assignments, plan::TO};
use travertine_value::{Name, Number, Value, time::Timestamp};

/// A place in the order in which things are found.
pub(crate) type Place = (Timestamp, u64);

/// Things with correlating properties, by place. Two of them can agree only if every property that both
/// define is equal. So of those that define the same properties it is enough to look at those with the
/// same value of one of them.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By which properties they define. Those who want something of the same name mostly define the
    /// same, so there are few.
    shapes: BTreeMap<Vec<Name>, Shape>,
}

/// Those that define the same properties.
#[derive(Debug, Default)]
struct Shape {
    all: BTreeSet<Place>,
    by_value: BTreeMap<(Name, Key), BTreeSet<Place>>,
}

/// A value, as far as it is told from others. Values that correlate have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bool(bool),
    Number(Number),
    String(Name),
    /// Lists and objects, which hardly anyone correlates by.
    Other,
}

impl Key {
    /// `None` for null, which correlates with everything.
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(it) => Self::Bool(*it),
            Value::Number(it) => Self::Number(*it),
            Value::String(it) => Self::of_text(it),
            Value::List(_) | Value::Map(_) => Self::Other,
        })
    }

    /// A text that spells another scalar as it is printed counts as that one.
    fn of_text(text: &Name) -> Self {
        let first = text.as_bytes().first();
        let as_number = || {
            let number: Number = text.parse().ok()?;
            (number.to_string() == **text).then_some(Self::Number(number))
        };
        match &**text {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ if first.is_some_and(|it| it.is_ascii_digit() || *it == b'-') => {
                as_number().unwrap_or_else(|| Self::String(Name::clone(text)))
            }
            _ => Self::String(Name::clone(text)),
        }
    }
}

/// Whether two values correlate: scalars by their text, so that the number 7 is the text `7`, and
/// everything else by its value. A key comes as text from a command line or another system, and as a
/// number from the variables of a process.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (Key::of(one), Key::of(other)) {
        (Some(Key::Other) | None, Some(Key::Other) | None) => one == other,
        (one, other) => one == other,
    }
}

impl Index {
    pub(crate) fn insert(&mut self, correlation: &Assignments, place: Place) {
        let shape = self.shapes.entry(names(correlation)).or_default();
        shape.all.insert(place);
        for (name, key) in defined(correlation) {
            shape.by_value.entry((Name::clone(name), key)).or_default().insert(place);
        }
    }

    /// Whether any of them defines a property.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.shapes.keys().any(|it| it.iter().any(|it| &**it == name))
    }

    /// Whether some of them do not define a property.
    pub(crate) fn some_without(&self, name: &str) -> bool {
        self.shapes.keys().any(|it| !it.iter().any(|it| &**it == name))
    }

    /// Takes out what was put in with the same properties.
    pub(crate) fn remove(&mut self, correlation: &Assignments, place: Place) {
        let names = names(correlation);
        let Some(shape) = self.shapes.get_mut(&names) else { return };
        shape.all.remove(&place);
        for (name, key) in defined(correlation) {
            let key = (Name::clone(name), key);
            if let Some(places) = shape.by_value.get_mut(&key) {
                places.remove(&place);
                if places.is_empty() {
                    shape.by_value.remove(&key);
                }
            }
        }
        if shape.all.is_empty() {
            self.shapes.remove(&names);
        }
    }

    /// Everything from a place on that may agree with these properties, in order. Whether it does, the
    /// caller must look. Only those are looked at whose names of properties are `wanted`.
    pub(crate) fn candidates<'a, F: Fn(&[Name]) -> bool>(
        &'a self,
        correlation: &Assignments,
        from: Place,
        wanted: F,
    ) -> impl Iterator<Item = Place> + use<'a, F> {
        let shapes = self.shapes.iter().filter(|(names, _)| wanted(names));
        let narrowest = shapes.filter_map(|(names, it)| it.narrowest(names, correlation));
        let ranges = narrowest.map(|it| it.range(from..));
        let mut queues: BTreeMap<Place, _> =
            ranges.filter_map(|mut it| Some((*it.next()?, it))).collect();
        std::iter::from_fn(move || {
            let (first, mut rest) = queues.pop_first()?;
            if let Some(next) = rest.next() {
                queues.insert(*next, rest);
            }
            Some(first)
        })
    }
}

impl Shape {
    /// The fewest places that contain all that may agree; `None` where nothing can.
    fn narrowest(&self, names: &[Name], correlation: &Assignments) -> Option<&BTreeSet<Place>> {
        let mut narrowest = &self.all;
        for (name, key) in defined(correlation).filter(|(name, _)| names.contains(name)) {
            let same = self.by_value.get(&(Name::clone(name), key))?;
            if same.len() < narrowest.len() {
                narrowest = same;
            }
        }
        Some(narrowest)
    }
}

fn names(correlation: &Assignments) -> Vec<Name> {
    let mut names: Vec<Name> = defined(correlation).map(|(name, _)| Name::clone(name)).collect();
    names.sort_unstable();
    names
}

/// The properties that must be equal where others define them, too. Where a message flow leads is not
/// one of them.
fn defined(correlation: &Assignments) -> impl Iterator<Item = (&Name, Key)> {
    let properties = correlation.iter().filter(|(name, _)| &**name != TO);
    properties.filter_map(|(name, value)| Some((name, Key::of(value)?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::correlates;

    const START: Timestamp = Timestamp::from_millis(0);

    fn properties(all: &[(&str, Value)]) -> Assignments {
        all.iter().map(|(name, value)| (Name::from(*name), value.clone())).collect()
    }

    // covers: ENGINE-29
    #[test]
    fn of_a_hundred_thousand_that_wait_only_the_one_that_is_meant_is_looked_at() {
        let mut index = Index::default();
        for nth in 0..100_000_u64 {
            let to = Value::from(format!("i{nth}").as_str());
            index.insert(&properties(&[("$to", to), ("key", nth.into())]), (START, nth));
        }
        index.insert(&properties(&[]), (START, 100_000));
        let looks = |wanted: &[(&str, Value)]| -> Vec<Place> {
            index.candidates(&properties(wanted), (START, 0), |_| true).collect()
        };
        assert_eq!(looks(&[("$to", "i70000".into())]), [(START, 70_000), (START, 100_000)]);
        assert_eq!(looks(&[("key", 5.into())]), [(START, 5), (START, 100_000)]);
        assert_eq!(looks(&[("$to", "nobody".into())]), [(START, 100_000)]);
        // Whoever says nothing means everyone, and the first of them is found at once.
        assert_eq!(
            index.candidates(&properties(&[]), (START, 0), |_| true).next(),
            Some((START, 0))
        );
    }

    #[test]
    fn scalars_correlate_by_their_text() {
        let same = |one: Value, other: Value| is_same(&one, &other) && is_same(&other, &one);
        let decimal = |text: &str| Value::parse_json(text).unwrap();
        assert!(same(7.into(), "7".into()));
        assert!(same(decimal("7.0"), "7".into()));
        assert!(same(decimal("-0.50"), "-0.5".into()));
        assert!(same(decimal("12345678901234567890"), "12345678901234567890".into()));
        assert!(same(true.into(), "true".into()));
        for other in ["7.0", "07", "+7", "7 ", "7e0", "seven", ""] {
            assert!(!same(7.into(), other.into()), "{other}");
        }
        // A text is itself, and no other text.
        assert!(same("07".into(), "07".into()));
        assert!(!same("07".into(), "7".into()));
        assert!(!same(1.into(), true.into()));
        assert!(!same(vec![Value::from(7)].into(), "[7]".into()));
        assert!(!same(vec![Value::from(7)].into(), vec![Value::from("7")].into()));
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(Value::from(true)),
            Just(Value::from(1)),
            Just(Value::from("1")),
            Just(Value::from("1.0")),
            Just(Value::from("true")),
            Just(Value::from(vec![Value::from(1)])),
            Just(Value::from(vec![Value::from(2)])),
        ]
    }

    fn some() -> impl Strategy<Value = Assignments> {
        let names = prop_oneof![Just("a"), Just("b"), Just("$to"), Just(TO)];
        proptest::collection::btree_map(names, value(), 0..4)
            .prop_map(|it| it.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_looking_at_all_finds(
            there in proptest::collection::vec((some(), any::<bool>()), 0..30),
            wanted in some(),
            from in 0..30_u64,
        ) {
            let mut index = Index::default();
            for (nth, (it, _)) in (0..).zip(&there) {
                index.insert(it, (START, nth));
            }
            for (nth, (it, gone)) in (0..).zip(&there) {
                if *gone {
                    index.remove(it, (START, nth));
                }
            }
            let agrees = |nth: &u64| {
                let at = usize::try_from(*nth).unwrap();
                correlates(&there[at].0, &wanted)
            };
            let found: Vec<u64> = index
                .candidates(&wanted, (START, from), |_| true)
                .map(|(_, nth)| nth)
                .filter(agrees)
                .collect();
            let all: Vec<u64> = (0..there.len() as u64)
                .filter(|nth| *nth >= from && !there[usize::try_from(*nth).unwrap()].1)
                .filter(agrees)
                .collect();
            prop_assert_eq!(found, all);
        }
    }
}
