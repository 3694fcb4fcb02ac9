//! Keys: one number for everything that can be named, as programs send and store it.
//!
//! A key tells what it is of, and which instance, so whoever has one finds the shard without a table:
//!
//! ```text
//! kind 0:        0 | kind:4 = 0 | instance:59                           the instance's own number
//! kinds inside:  0 | kind:4 | class:2 | instance:(57 - n) | number:n    n = 8, 16, 24 or 32 by class
//! others:        0 | kind:4 | number:59
//! ```
//!
//! Only the smallest class that a number fits in makes a key. So each thing has one key, and a number
//! that is no key is known to be none.

use std::{fmt, str::FromStr};

use travertine_kernel::WaitId;

use crate::{Address, DefinitionKey, InstanceId};

/// Bits below the kind.
const BITS: u32 = 59;
/// Bits below the class.
const INNER_BITS: u32 = BITS - 2;

/// What a key is of.
///
/// ```
/// # use travertine_runtime::{InstanceId, Key, Named};
/// let incident = Named::Incident(InstanceId(12), 3);
/// assert_eq!(incident.instance(), Some(InstanceId(12)));
/// assert_eq!(Key::of(incident).map(Key::named), Some(incident));
/// assert_eq!(incident.to_string(), "incident 3 of instance 12");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// An instance. Its key is its number.
    Instance(InstanceId),
    /// An element instance: one stay of a token at an element, by its number in the instance.
    Visit(InstanceId, u64),
    /// A job, a user task, a timer or a subscription.
    Wait(Address),
    /// A variable, by the number that it got when its name was first set in its scope.
    Variable(InstanceId, u64),
    /// An incident, by its number in the instance.
    Incident(InstanceId, u64),
    /// One evaluation of a decision, by its number in the instance; the instance is 0 where no
    /// instance has asked for it.
    Evaluation(InstanceId, u64),
    /// A message or a signal that was sent.
    Message(u64),
    /// A deployment.
    Deployment(u64),
    /// A version of a process or of a function.
    Definition(DefinitionKey),
    /// A version of a decision.
    Decision(DefinitionKey),
    /// A version of a decision requirements graph.
    DecisionRequirements(DefinitionKey),
    /// A version of a form.
    Form(DefinitionKey),
    /// A version of a file that is deployed as it is.
    Resource(DefinitionKey),
    /// A start event that waits for something: the number of its definition, and which of its elements.
    StartEvent(DefinitionKey, u64),
}

/// A number for anything that can be named: positive, never used twice, the same as long as the thing
/// is there, whatever becomes of the process of the engine and of its views.
///
/// ```
/// # use travertine_runtime::{Address, InstanceId, Key, Named};
/// // The key of an instance is its number …
/// let instance: Key = "12".parse()?;
/// assert_eq!(instance.named(), Named::Instance(InstanceId(12)));
///
/// // … and that of a job says in which instance it is.
/// let job: Address = "12-7".parse()?;
/// let key = Key::of(Named::Wait(job)).expect("it fits");
/// assert_eq!(Key::read(key.number()), Some(Named::Wait(job)));
/// assert_eq!(key.to_string().parse(), Ok(key));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(i64);

/// The kinds, as the upper bits have them. They are stored outside, so none is ever given another
/// meaning.
mod kind {
    pub(super) const INSTANCE: u64 = 0;
    pub(super) const VISIT: u64 = 1;
    pub(super) const WAIT: u64 = 2;
    pub(super) const VARIABLE: u64 = 3;
    pub(super) const INCIDENT: u64 = 4;
    pub(super) const EVALUATION: u64 = 5;
    pub(super) const MESSAGE: u64 = 6;
    pub(super) const DEPLOYMENT: u64 = 7;
    pub(super) const DEFINITION: u64 = 8;
    pub(super) const DECISION: u64 = 9;
    pub(super) const DECISION_REQUIREMENTS: u64 = 10;
    pub(super) const FORM: u64 = 11;
    pub(super) const RESOURCE: u64 = 12;
    pub(super) const START_EVENT: u64 = 13;
}

impl Key {
    /// The key of something; `None` for the number 0 of an instance, and where the numbers are greater
    /// than a key has room for: at 2^25 instances with more than 2^24 things in one of them, at 2^49
    /// with no more than 256 in any.
    ///
    /// ```
    /// # use travertine_runtime::{InstanceId, Key, Named};
    /// let many = Named::Visit(InstanceId(1 << 40), 200);
    /// assert!(Key::of(many).is_some());
    /// let too_many = Named::Visit(InstanceId(1 << 40), 1 << 20);
    /// assert_eq!(Key::of(too_many), None, "rather none than a wrong one");
    /// ```
    pub fn of(it: Named) -> Option<Self> {
        let (kind, rest) = match it {
            Named::Instance(it) => (kind::INSTANCE, whole(it.0)?),
            Named::Visit(instance, number) => (kind::VISIT, inner(instance, number)?),
            Named::Wait(it) => (kind::WAIT, inner(it.instance, it.wait.0)?),
            Named::Variable(instance, number) => (kind::VARIABLE, inner(instance, number)?),
            Named::Incident(instance, number) => (kind::INCIDENT, inner(instance, number)?),
            Named::Evaluation(instance, number) => (kind::EVALUATION, inner(instance, number)?),
            Named::Message(number) => (kind::MESSAGE, whole(number)?),
            Named::Deployment(number) => (kind::DEPLOYMENT, whole(number)?),
            Named::Definition(it) => (kind::DEFINITION, whole(it.0)?),
            Named::Decision(it) => (kind::DECISION, whole(it.0)?),
            Named::DecisionRequirements(it) => (kind::DECISION_REQUIREMENTS, whole(it.0)?),
            Named::Form(it) => (kind::FORM, whole(it.0)?),
            Named::Resource(it) => (kind::RESOURCE, whole(it.0)?),
            // Packed as what is in an instance.
            Named::StartEvent(definition, number) => {
                (kind::START_EVENT, inner(InstanceId(definition.0), number)?)
            }
        };
        let number = i64::try_from(kind << BITS | rest).ok()?;
        (number > 0).then_some(Self(number))
    }

    /// What has this number as its key. `None` where nothing can have it.
    ///
    /// ```
    /// # use travertine_runtime::{InstanceId, Key, Named};
    /// assert_eq!(Key::read(7), Some(Named::Instance(InstanceId(7))));
    /// assert_eq!((Key::read(0), Key::read(-7), Key::read(i64::MAX)), (None, None, None));
    /// ```
    pub fn read(number: i64) -> Option<Named> {
        let bits = u64::try_from(number).ok().filter(|it| *it > 0)?;
        let rest = bits & ((1 << BITS) - 1);
        let pair = || split(rest);
        Some(match bits >> BITS {
            kind::INSTANCE => Named::Instance(InstanceId(rest)),
            kind::VISIT => pair().map(|(instance, number)| Named::Visit(instance, number))?,
            kind::WAIT => pair()
                .map(|(instance, wait)| Named::Wait(Address { instance, wait: WaitId(wait) }))?,
            kind::VARIABLE => pair().map(|(instance, it)| Named::Variable(instance, it))?,
            kind::INCIDENT => pair().map(|(instance, it)| Named::Incident(instance, it))?,
            kind::EVALUATION => pair().map(|(instance, it)| Named::Evaluation(instance, it))?,
            kind::MESSAGE => Named::Message(rest),
            kind::DEPLOYMENT => Named::Deployment(rest),
            kind::DEFINITION => Named::Definition(DefinitionKey(rest)),
            kind::DECISION => Named::Decision(DefinitionKey(rest)),
            kind::DECISION_REQUIREMENTS => Named::DecisionRequirements(DefinitionKey(rest)),
            kind::FORM => Named::Form(DefinitionKey(rest)),
            kind::RESOURCE => Named::Resource(DefinitionKey(rest)),
            kind::START_EVENT => {
                pair().map(|(definition, it)| Named::StartEvent(DefinitionKey(definition.0), it))?
            }
            _ => return None,
        })
    }

    /// What it is of.
    ///
    /// ```
    /// # use travertine_runtime::{DefinitionKey, Key, Named};
    /// let order = Named::Definition(DefinitionKey(3));
    /// let key = Key::of(order).expect("it fits");
    /// assert_eq!(key.named(), order);
    /// ```
    pub fn named(self) -> Named {
        Self::read(self.0).expect("a key is of something")
    }

    /// The number.
    ///
    /// ```
    /// # use travertine_runtime::{InstanceId, Key, Named};
    /// let key = Key::of(Named::Instance(InstanceId(7)));
    /// assert_eq!(key.map(Key::number), Some(7));
    /// ```
    pub fn number(self) -> i64 {
        self.0
    }
}

fn whole(number: u64) -> Option<u64> {
    (number >> BITS == 0).then_some(number)
}

/// Instance and number, by the smallest class that the number fits in.
fn inner(instance: InstanceId, number: u64) -> Option<u64> {
    let class = (0..4).find(|it| number >> width(*it) == 0)?;
    let room = INNER_BITS - width(class);
    let fits = instance.0 >> room == 0;
    fits.then_some(u64::from(class) << INNER_BITS | instance.0 << width(class) | number)
}

/// The two again; `None` where a smaller class would have done.
fn split(rest: u64) -> Option<(InstanceId, u64)> {
    let class = u32::try_from(rest >> INNER_BITS).ok()?;
    let inner = rest & ((1 << INNER_BITS) - 1);
    let number = inner & ((1 << width(class)) - 1);
    let smallest = class == 0 || number >> width(class - 1) > 0;
    smallest.then_some((InstanceId(inner >> width(class)), number))
}

/// How many bits a number has in a class.
fn width(class: u32) -> u32 {
    8 * (class + 1)
}

impl Named {
    /// The instance that it is, or is in.
    ///
    /// ```
    /// # use travertine_runtime::{InstanceId, Named};
    /// assert_eq!(Named::Variable(InstanceId(12), 4).instance(), Some(InstanceId(12)));
    /// assert_eq!(Named::Message(4).instance(), None);
    /// ```
    pub fn instance(self) -> Option<InstanceId> {
        match self {
            Self::Instance(it)
            | Self::Visit(it, _)
            | Self::Wait(Address { instance: it, .. })
            | Self::Variable(it, _)
            | Self::Incident(it, _) => Some(it),
            Self::Evaluation(it, _) => (it.0 > 0).then_some(it),
            Self::Message(_)
            | Self::Deployment(_)
            | Self::Definition(_)
            | Self::Decision(_)
            | Self::DecisionRequirements(_)
            | Self::Form(_)
            | Self::Resource(_)
            | Self::StartEvent(..) => None,
        }
    }

    /// What kind of thing it is, in words.
    ///
    /// ```
    /// # use travertine_runtime::{DefinitionKey, Named};
    /// assert_eq!(Named::Form(DefinitionKey(4)).what(), "form");
    /// ```
    pub fn what(self) -> &'static str {
        match self {
            Self::Instance(_) => "instance",
            Self::Visit(..) => "element instance",
            Self::Wait(_) => "job, user task, timer or subscription",
            Self::Variable(..) => "variable",
            Self::Incident(..) => "incident",
            Self::Evaluation(..) => "evaluation of a decision",
            Self::Message(_) => "message or signal",
            Self::Deployment(_) => "deployment",
            Self::Definition(_) => "definition",
            Self::Decision(_) => "decision",
            Self::DecisionRequirements(_) => "decision requirements graph",
            Self::Form(_) => "form",
            Self::Resource(_) => "resource",
            Self::StartEvent(..) => "start event",
        }
    }
}

impl fmt::Display for Named {
    /// `incident 3 of instance 12`, `form 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what();
        match *self {
            Self::Visit(instance, number)
            | Self::Variable(instance, number)
            | Self::Incident(instance, number)
            | Self::Evaluation(instance, number) => {
                write!(f, "{what} {number} of instance {instance}")
            }
            Self::Wait(it) => write!(f, "{what} {it}"),
            Self::StartEvent(definition, number) => {
                write!(f, "{what} {number} of definition {definition}")
            }
            Self::Instance(InstanceId(number))
            | Self::Message(number)
            | Self::Deployment(number)
            | Self::Definition(DefinitionKey(number))
            | Self::Decision(DefinitionKey(number))
            | Self::DecisionRequirements(DefinitionKey(number))
            | Self::Form(DefinitionKey(number))
            | Self::Resource(DefinitionKey(number)) => write!(f, "{what} {number}"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<i64> for Key {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let known = Self::read(number).is_some();
        known.then_some(Self(number)).ok_or_else(|| format!("not a key: {number}"))
    }
}

impl FromStr for Key {
    type Err = String;

    /// As [`fmt::Display`] writes it, and in no other way: each key has one text.
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.bytes().all(|it| it.is_ascii_digit()) && !text.starts_with('0');
        let number = text.parse::<i64>().ok().filter(|_| plain);
        number.and_then(|it| Self::try_from(it).ok()).ok_or_else(|| format!("not a key: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::Config};

    use super::*;

    /// Numbers of every length, since most of those that are drawn evenly are huge.
    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift)
    }

    fn named() -> impl Strategy<Value = Named> {
        (0..13, number(), number()).prop_map(|(kind, one, two)| match kind {
            0 => Named::Instance(InstanceId(one)),
            1 => Named::Visit(InstanceId(one), two),
            2 => Named::Wait(Address { instance: InstanceId(one), wait: WaitId(two) }),
            3 => Named::Variable(InstanceId(one), two),
            4 => Named::Incident(InstanceId(one), two),
            5 => Named::Evaluation(InstanceId(one), two),
            6 => Named::Message(one),
            7 => Named::Deployment(one),
            8 => Named::Definition(DefinitionKey(one)),
            9 => Named::Decision(DefinitionKey(one)),
            10 => Named::DecisionRequirements(DefinitionKey(one)),
            11 => Named::Form(DefinitionKey(one)),
            _ => Named::Resource(DefinitionKey(one)),
        })
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(4_096) })]

        #[test]
        fn a_key_is_of_what_it_was_made_for(it in named()) {
            if let Some(key) = Key::of(it) {
                prop_assert!(key.number() > 0);
                prop_assert_eq!(key.named(), it);
                prop_assert_eq!(key.to_string().parse(), Ok(key));
            }
        }

        #[test]
        fn every_other_number_is_no_key(bits in any::<u64>(), shift in 0u32..64) {
            let number = (bits >> shift).cast_signed();
            match Key::read(number) {
                Some(it) => prop_assert_eq!(Key::of(it).map(Key::number), Some(number)),
                None => prop_assert!(Key::try_from(number).is_err()),
            }
        }

        #[test]
        fn what_a_store_of_any_likely_size_has_gets_a_key(
            instance in 1u64..1 << 33,
            number in 0u64..1 << 24,
        ) {
            prop_assert!(Key::of(Named::Visit(InstanceId(instance), number)).is_some());
        }
    }

    #[test]
    fn keys_stay_what_they_are() {
        let of = |it| Key::of(it).map(Key::number);
        let instance = InstanceId(12);
        assert_eq!(of(Named::Instance(instance)), Some(12));
        assert_eq!(of(Named::Visit(instance, 7)), Some((1 << 59) + (12 << 8) + 7));
        assert_eq!(of(Named::Visit(instance, 256)), Some((1 << 59) + (1 << 57) + (12 << 16) + 256));
        assert_eq!(
            of(Named::Wait(Address { instance: InstanceId(12), wait: WaitId(7) })),
            Some((2 << 59) + (12 << 8) + 7)
        );
        assert_eq!(of(Named::Variable(instance, 7)), Some((3 << 59) + (12 << 8) + 7));
        assert_eq!(of(Named::Incident(instance, 7)), Some((4 << 59) + (12 << 8) + 7));
        assert_eq!(of(Named::Evaluation(instance, 7)), Some((5 << 59) + (12 << 8) + 7));
        assert_eq!(of(Named::Message(7)), Some((6 << 59) + 7));
        assert_eq!(of(Named::Deployment(7)), Some((7 << 59) + 7));
        assert_eq!(of(Named::Definition(DefinitionKey(7))), Some((8 << 59) + 7));
        assert_eq!(of(Named::Decision(DefinitionKey(7))), Some((9 << 59) + 7));
        assert_eq!(of(Named::DecisionRequirements(DefinitionKey(7))), Some((10 << 59) + 7));
        assert_eq!(of(Named::Form(DefinitionKey(7))), Some((11 << 59) + 7));
        assert_eq!(of(Named::Resource(DefinitionKey(7))), Some((12 << 59) + 7));
    }

    #[test]
    fn what_has_no_room_has_no_key() {
        for (class, most) in [(0, 255), (1, 65_535), (2, (1 << 24) - 1), (3, (1 << 32) - 1)] {
            let room: u64 = 1 << (INNER_BITS - width(class));
            assert!(Key::of(Named::Visit(InstanceId(room - 1), most)).is_some());
            assert_eq!(Key::of(Named::Visit(InstanceId(room), most)), None);
        }
        assert_eq!(Key::of(Named::Visit(InstanceId(1), 1 << 32)), None);
        assert_eq!(Key::of(Named::Message(1 << 59)), None);
        assert_eq!(Key::of(Named::Instance(InstanceId(0))), None);
    }

    #[test]
    fn a_text_that_is_not_how_keys_are_written_is_refused() {
        for text in ["", "0", "-7", "+7", "07", " 7", "7 ", "12-7", "7.0", "9223372036854775808"] {
            assert_eq!(text.parse::<Key>(), Err(format!("not a key: {text}")));
        }
        assert_eq!("7".parse().map(Key::named), Ok(Named::Instance(InstanceId(7))));
    }
}
