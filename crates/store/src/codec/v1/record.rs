//! Records and letters, as this version of the format has them.

use std::{cell::Cell, time::Duration};

use serde::{Deserialize, Deserializer, de};
use travertine_kernel::{self as kernel, Assignments, Catches, Ending, PostId, WaitId};
use travertine_value::{
    Name,
    time::{self, Timestamp},
};

use super::{Out, Put, part, puts, wait::Span};
use crate::{Address, DefinitionKey, InstanceId, record};

/// A type of the format, which becomes the one of today.
pub(in crate::codec) trait Lift {
    /// The one of today.
    type Live;

    fn lift(self) -> Self::Live;
}

/// States once what a type looks like in bytes: its fields in order, or its variants and theirs. That gives the type
/// that is read, how it becomes the one of today, and how the one of today is put. What is left out or is of another
/// type does not compile.
macro_rules! mirror {
    (struct $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        mirror!(read struct $name { $($field: $type),* });
        puts!(struct record::$name { $($field),* });
    };
    (read struct $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        #[derive(Deserialize)]
        pub(in crate::codec) struct $name {
            $($field: $type),*
        }

        impl Lift for $name {
            type Live = record::$name;

            fn lift(self) -> Self::Live {
                record::$name { $($field: self.$field.lift()),* }
            }
        }
    };
    (enum $name:ident {
        $($variant:ident $(($part:ident: $of:ty))? $({ $($field:ident: $type:ty),* })?),* $(,)?
    }) => {
        #[derive(Deserialize)]
        pub(in crate::codec) enum $name {
            $($variant $(($of))? $({ $($field: $type),* })?),*
        }

        impl Lift for $name {
            type Live = record::$name;

            fn lift(self) -> Self::Live {
                match self {
                    $(Self::$variant $(($part))? $({ $($field),* })? => {
                        record::$name::$variant $(($part.lift()))? $({ $($field: $field.lift()),* })?
                    })*
                }
            }
        }

        puts!(enum record::$name { $($variant $(($part))? $({ $($field),* })?),* });
    };
}

mirror!(enum Record {
    Created(it: Created),
    Happened(it: Events),
    Suspended,
    Resumed,
    Halted(it: String),
    Released,
    Deferred(it: Letter),
    Recalled,
    Leased { wait: Wait, worker: Name, until: Time },
    Paused { wait: Wait, until: Time },
    TaskChanged { wait: Wait, change: TaskChange },
    TimerMoved { wait: Wait, due: Time },
    Migrated { definition: Definition },
    Folded(it: Box<Folded>),
    Held(it: Held),
    Gone { message: u64 },
    Known { number: u64, name: Name, id: Name, until: Time },
    Subscribed(it: Subscription),
    Unsubscribed { instance: Instance, wait: Wait },
    Noted { start: StartKey, variables: Values },
    Unnoted { start: StartKey },
    StartTimer(it: StartTimer),
    Heard { name: Name, after: u64, had: Vec<u64> },
    BeganAs { definition: Name },
    Ended(it: Box<Folded>),
    Recognised { number: u64, name: Name, receiver: Name, id: Name, until: Time },
    Labelled(it: Box<Labels>),
    Numbered { messages: u64 },
    EndsAfter { elements: Vec<Name> },
    By { who: Name },
    ByBatch { who: Name, batch: Instance },
});

mirror!(
    struct Labels {
        tags: Vec<Name>,
        trace: Option<Name>,
    }
);

mirror!(
    struct Created {
        definition: Definition,
        business_id: Option<Name>,
        caller: Option<At>,
        root: Instance,
        depth: u32,
    }
);

mirror!(
    struct TaskChange {
        assignee: Edit<Name>,
        candidate_users: Option<Vec<Name>>,
        candidate_groups: Option<Vec<Name>>,
        due: Edit<Time>,
        follow_up: Edit<Time>,
        priority: Option<i64>,
    }
);

mirror!(
    struct Folded {
        created: Created,
        started: Time,
        ending: End,
        variables: Values,
    }
);

mirror!(
    struct Held {
        number: u64,
        message: Message,
        published: Time,
        expires: Option<Time>,
        dead: Option<Dead>,
    }
);

mirror!(
    struct Dead {
        at: Time,
        reason: Name,
    }
);

mirror!(
    struct Message {
        name: Name,
        correlation: Values,
        variables: Values,
        id: Option<Name>,
        ttl: Option<Span>,
        consume: Consume,
        delivery: Delivery,
    }
);

mirror!(
    enum SubscriptionKind {
        Message,
        Signal,
    }
);

mirror!(
    struct Subscription {
        instance: Instance,
        wait: Wait,
        kind: SubscriptionKind,
        name: Name,
        correlation: Values,
        element: Name,
        since: Time,
        place: u64,
        created: Time,
        after: u64,
        had: Vec<u64>,
    }
);

mirror!(
    struct StartKey {
        definition: Definition,
        node: u32,
        position: u32,
    }
);

mirror!(
    struct StartTimer {
        start: StartKey,
        due: Option<Time>,
        repeat: Cycle,
    }
);

mirror!(enum Letter {
    Call(it: Call),
    Ended { to: At, child: Instance, ending: End, variables: Values },
    NotCalled { to: At, reason: String },
    Uncall { from: At },
    Escalated { to: At, code: Option<Name>, variables: Values, confirm: Nested },
    Delivered { instance: Instance, post: Post },
    Subscribe(it: Subscription),
    Unsubscribe { instance: Instance, wait: Wait },
    Publish { message: Message, again: bool, published: Time, expires: Option<Time> },
    Deliver { to: At, message: Message, published: Time, expires: Option<Time>, shared: Option<Shared> },
    Broadcast { name: Name, variables: Values, from: Option<Instance> },
    Signal { to: At, variables: Values },
    Ring { to: At },
    Cancel { instance: Instance },
    Start { definition: Name, id: Name, variables: Values },
    Trigger { start: StartKey, variables: Values },
    Bury { message: Message, published: Time, expires: Option<Time>, reason: Name },
    AskVariables { of: At, names: Vec<Name> },
    Variables { of: At, values: Values },
    CallFailed { to: At, failure: Failed },
    Chained { generation: u32, letter: Nested },
});

/// A letter within another. One is written within another within a third at most; more are refused, so that no
/// bytes use up the stack.
pub(in crate::codec) struct Nested(Box<Letter>);

const NESTED_MAX: u8 = 4;

thread_local! {
    /// How many letters the one that is being read stands in.
    static AROUND: Cell<u8> = const { Cell::new(0) };
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(bytes: D) -> Result<Self, D::Error> {
        let around = AROUND.get();
        if around == NESTED_MAX {
            return Err(de::Error::custom("a letter stands within too many others"));
        }
        AROUND.set(around + 1);
        let letter = Letter::deserialize(bytes);
        AROUND.set(around);
        letter.map(|it| Self(Box::new(it)))
    }
}

impl Lift for Nested {
    type Live = Box<record::Letter>;

    fn lift(self) -> Self::Live {
        self.0.lift()
    }
}

mirror!(
    struct Shared {
        number: u64,
        upto: u64,
    }
);

mirror!(
    struct Call {
        from: At,
        definition: Definition,
        variables: Values,
        catches: Caught,
        root: Instance,
        depth: u32,
    }
);

mirror!(
    struct ShardState {
        instances: u64,
        messages: u64,
        noted: Vec<Noted>,
        timers: Vec<StartTimer>,
        unfinished: Vec<Instance>,
    }
);

mirror!(
    struct Noted {
        start: StartKey,
        variables: Values,
    }
);

mirror!(read struct Snapshot {
    created: Created,
    definition: Definition,
    records: Vec<Record>,
    since: Vec<(Wait, Time)>,
    state: Vec<u8>,
});

mirror!(
    enum Consume {
        One,
        All,
    }
);

mirror!(
    enum Delivery {
        AfterWait,
        AfterCreate,
        All,
    }
);

/// A change of something that need not be there.
#[derive(Deserialize)]
pub(in crate::codec) enum Edit<T> {
    Keep,
    Remove,
    Set(T),
}

impl<T: Lift> Lift for Edit<T> {
    type Live = record::Edit<T::Live>;

    fn lift(self) -> Self::Live {
        match self {
            Self::Keep => record::Edit::Keep,
            Self::Remove => record::Edit::Remove,
            Self::Set(new) => record::Edit::Set(new.lift()),
        }
    }
}

impl<T: Put> Put for record::Edit<T> {
    fn put(&self, out: &mut Out) {
        match self {
            Self::Keep => out.variant(0, ()),
            Self::Remove => out.variant(1, ()),
            Self::Set(new) => out.variant(2, new),
        }
    }
}

impl Put for record::Snapshot {
    fn put(&self, out: &mut Out) {
        let Self { created, definition, records, since, state } = self;
        (created, definition, records, since).put(out);
        // All at once: there may be many.
        out.bytes(state);
    }
}

/// Records, and one that stands at their end.
pub(in crate::codec) struct RecordsBy<'a>(
    pub(in crate::codec) &'a [record::Record],
    pub(in crate::codec) &'a record::Record,
);

impl Put for RecordsBy<'_> {
    fn put(&self, out: &mut Out) {
        out.length(self.0.len() + 1);
        self.0.iter().chain([self.1]).for_each(|it| it.put(out));
    }
}

/// What is the same in the format and today.
macro_rules! same {
    ($($type:ty),*) => {
        $(impl Lift for $type {
            type Live = Self;

            fn lift(self) -> Self {
                self
            }
        })*
    };
}

/// Numbers of the format that have types of their own today.
macro_rules! numbers {
    ($($name:ident($number:ty) is $type:path;)*) => {
        $(
            #[derive(Deserialize)]
            pub(in crate::codec) struct $name($number);

            impl Lift for $name {
                type Live = $type;

                fn lift(self) -> Self::Live {
                    $type(self.0)
                }
            }
        )*
    };
}

numbers! {
    Instance(u64) is InstanceId;
    Definition(u64) is DefinitionKey;
    Wait(u64) is WaitId;
    Post(u64) is PostId;
}

/// A point in time, in milliseconds since 1970.
#[derive(Deserialize)]
pub(in crate::codec) struct Time(i64);

impl Lift for Time {
    type Live = Timestamp;

    fn lift(self) -> Timestamp {
        Timestamp::from_millis(self.0)
    }
}

impl Lift for Span {
    type Live = Duration;

    fn lift(self) -> Duration {
        self.lift()
    }
}

/// A wait of an instance.
#[derive(Deserialize)]
pub(in crate::codec) struct At(u64, u64);

impl Lift for At {
    type Live = Address;

    fn lift(self) -> Address {
        Address { instance: InstanceId(self.0), wait: WaitId(self.1) }
    }
}

impl Put for InstanceId {
    fn put(&self, out: &mut Out) {
        self.0.put(out);
    }
}

impl Put for DefinitionKey {
    fn put(&self, out: &mut Out) {
        self.0.put(out);
    }
}

impl Put for Address {
    fn put(&self, out: &mut Out) {
        (&self.instance, &self.wait).put(out);
    }
}

same!(bool, u8, u32, u64, i64, String, Name);

/// Parts that are the kernel's, by the type that its events have for them.
macro_rules! kernels {
    ($($name:ident($type:ty) by $read:literal;)*) => {
        $(
            #[derive(Deserialize)]
            pub(in crate::codec) struct $name(#[serde(deserialize_with = $read)] $type);

            impl Lift for $name {
                type Live = $type;

                fn lift(self) -> $type {
                    self.0
                }
            }
        )*
    };
}

kernels! {
    Values(Assignments) by "part::values";
    Events(Vec<kernel::Event>) by "part::events";
    End(Ending) by "part::ending";
    Failed(kernel::Failure) by "part::failure";
    Caught(Catches) by "part::catches";
    Cycle(Option<time::Repeat>) by "part::repeat";
}

impl<T: Lift> Lift for Option<T> {
    type Live = Option<T::Live>;

    fn lift(self) -> Self::Live {
        self.map(T::lift)
    }
}

impl<T: Lift> Lift for Vec<T> {
    type Live = Vec<T::Live>;

    fn lift(self) -> Self::Live {
        self.into_iter().map(T::lift).collect()
    }
}

impl<T: Lift> Lift for Box<T> {
    type Live = Box<T::Live>;

    fn lift(self) -> Self::Live {
        Box::new((*self).lift())
    }
}

impl<A: Lift, B: Lift> Lift for (A, B) {
    type Live = (A::Live, B::Live);

    fn lift(self) -> Self::Live {
        (self.0.lift(), self.1.lift())
    }
}
