//! What there is to draw, wherever it is drawn.

mod read;

use std::collections::BTreeMap;

use travertine_xml::Document;

/// A position in [`Model::items`].
pub(crate) type ItemId = usize;

/// Everything that can be drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) items: Vec<Item>,
    pub(crate) links: Vec<Link>,
    ids: BTreeMap<String, ItemId>,
    link_ids: BTreeMap<String, usize>,
}

/// Something with an extent.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The local name of its element.
    pub(crate) class: String,
    /// The process or sub-process it lies in.
    pub(crate) parent: Option<ItemId>,
    /// The activity that a boundary event is attached to.
    pub(crate) host: Option<ItemId>,
    /// The innermost lane it lies in; for a lane, the lane around it.
    pub(crate) lane: Option<ItemId>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A process; only its pool is drawn, where it has one.
    Process,
    Pool {
        process: Option<ItemId>,
        multiple: bool,
    },
    Lane,
    Activity(Activity),
    Event(Event),
    Gateway(Gateway),
    Data {
        role: DataRole,
        collection: bool,
    },
    Store,
    Annotation,
    Group,
    Conversation,
    Choreography,
}

/// An activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) work: Work,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) compensates: bool,
    pub(crate) ad_hoc: bool,
    /// Whether it has elements of its own inside.
    pub(crate) contains: bool,
}

/// What an activity does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Plain,
    User,
    Service,
    Script,
    Send,
    Receive { instantiates: bool },
    Manual,
    BusinessRule,
    Call,
    SubProcess,
    EventSubProcess,
    Transaction,
}

/// How an activity is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    Loop,
    Parallel,
    Sequential,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) place: EventPlace,
    pub(crate) what: What,
    pub(crate) interrupting: bool,
}

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventPlace {
    Start,
    Catch,
    Throw,
    Boundary,
    End,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Nothing,
    Message,
    Timer,
    Error,
    Escalation,
    Signal,
    Condition,
    Compensation,
    Cancel,
    Link,
    Terminate,
    Multiple,
    ParallelMultiple,
}

/// A gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gateway {
    Exclusive,
    Inclusive,
    Parallel,
    Complex,
    EventBased,
    EventBasedStart,
    ParallelEventBasedStart,
}

/// What data is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataRole {
    Plain,
    Input,
    Output,
}

/// A line from one item to another.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: LinkKind,
    pub(crate) from: ItemId,
    pub(crate) to: ItemId,
}

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    Sequence {
        /// It is taken when no other is.
        default: bool,
        /// It leaves an activity under a condition.
        conditional: bool,
    },
    Message,
    Association {
        /// Whether it has an arrow at its start, and at its end.
        arrows: (bool, bool),
    },
    Conversation,
}

impl Model {
    /// Everything that can be drawn in a document.
    pub(crate) fn of(document: &Document) -> Self {
        read::model(document)
    }

    pub(crate) fn item(&self, id: ItemId) -> &Item {
        &self.items[id]
    }

    pub(crate) fn find(&self, id: &str) -> Option<ItemId> {
        self.ids.get(id).copied()
    }

    pub(crate) fn find_link(&self, id: &str) -> Option<usize> {
        self.link_ids.get(id).copied()
    }

    /// Every item of a kind, with its place.
    pub(crate) fn all(
        &self,
        wanted: impl Fn(&Item) -> bool,
    ) -> impl Iterator<Item = (ItemId, &Item)> {
        self.items.iter().enumerate().filter(move |(_, it)| wanted(it))
    }

    /// What lies directly in a process or sub-process.
    pub(crate) fn inside(&self, container: ItemId) -> impl Iterator<Item = (ItemId, &Item)> {
        self.all(move |it| it.parent == Some(container))
    }

    /// The item, and what it lies in, outwards.
    pub(crate) fn outwards(&self, id: ItemId) -> impl Iterator<Item = ItemId> {
        std::iter::successors(Some(id), |it| self.items[*it].parent)
    }

    /// The process that an item belongs to.
    pub(crate) fn process_of(&self, id: ItemId) -> Option<ItemId> {
        if let Kind::Pool { process, .. } = self.items[id].kind {
            return process;
        }
        self.outwards(id).find(|it| self.items[*it].kind == Kind::Process)
    }

    /// The pool of a process.
    pub(crate) fn pool_of(&self, process: ItemId) -> Option<ItemId> {
        self.items.iter().position(
            |it| matches!(it.kind, Kind::Pool { process: Some(own), .. } if own == process),
        )
    }
}

impl Item {
    /// Whether a token can stand there.
    /// What is written beside it: its name, or where the places are ours and there is none, its id, by
    /// which it can be found. Gateways are many, and mostly have no name on purpose.
    pub(crate) fn label(&self, laid_out: bool) -> &str {
        match self.kind {
            Kind::Event(_) if laid_out && self.name.is_empty() => &self.id,
            _ => &self.name,
        }
    }

    pub(crate) fn is_flow_node(&self) -> bool {
        match self.kind {
            Kind::Activity(_) | Kind::Event(_) | Kind::Gateway(_) => true,
            Kind::Process
            | Kind::Pool { .. }
            | Kind::Lane
            | Kind::Data { .. }
            | Kind::Store
            | Kind::Annotation
            | Kind::Group
            | Kind::Conversation
            | Kind::Choreography => false,
        }
    }

    /// Whether other elements lie in it.
    pub(crate) fn contains(&self) -> bool {
        matches!(self.kind, Kind::Activity(Activity { contains: true, .. }))
    }
}
