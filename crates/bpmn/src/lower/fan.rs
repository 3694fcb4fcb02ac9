//! Forks and joins that belong together, in dialects where each branch has variables of its own.
//!
//! Only what is closed in itself is told apart: all ways from the fork lead to one join, nothing else leads
//! in, and nothing ends on the way; or all of them end, and meet nothing that joins. Elsewhere branches share
//! their variables, so that none is ever lost.

use std::collections::{HashMap, HashSet, VecDeque};

use super::is_true;
use crate::{
    files::Files,
    schema,
    xml::{Node, Ns},
};

type Key = (usize, usize);

/// Beyond so many nodes between a fork and its join nobody sees them as one; it bounds the search.
const REGION_MAX: usize = 500;

/// Where tokens meet.
const MEETING: &[&str] = &["parallelGateway", "inclusiveGateway", "complexGateway"];

/// So many joins are tried for a fork.
const JOINS_MAX: usize = 16;

/// What is connected with what in a container.
#[derive(Default)]
struct Ways<'a> {
    nodes: HashMap<Key, Node<'a>>,
    next: HashMap<Key, Vec<Key>>,
    before: HashMap<Key, Vec<Key>>,
}

impl<'a> Ways<'a> {
    fn new(container: Node<'a>, files: &Files<'a>) -> Self {
        let mut ways = Self::default();
        let find = |id: Option<&str>| {
            let found = container.document().by_id(id?.trim())?;
            (found.parent() == Some(container)).then_some(found)
        };
        for node in container.children().filter(|it| *it.ns() == Ns::Bpmn) {
            if schema::is_a(node.name(), "flowNode") {
                ways.nodes.insert(node.key(), node);
            }
            let (from, to) = match node.name() {
                "sequenceFlow" => (find(node.attr("sourceRef")), find(node.attr("targetRef"))),
                "intermediateThrowEvent" => {
                    let caught = caught_by(node, container, files);
                    (caught.and(Some(node)), caught)
                }
                "boundaryEvent"
                    if files.definition(node, "compensateEventDefinition").is_none() =>
                {
                    (find(node.attr("attachedToRef")), Some(node))
                }
                _ => continue,
            };
            if let (Some(from), Some(to)) = (from, to) {
                ways.next.entry(from.key()).or_default().push(to.key());
                ways.before.entry(to.key()).or_default().push(from.key());
            }
        }
        ways
    }

    fn next(&self, key: Key) -> &[Key] {
        self.next.get(&key).map_or(&[], Vec::as_slice)
    }

    fn before(&self, key: Key) -> &[Key] {
        self.before.get(&key).map_or(&[], Vec::as_slice)
    }

    fn is_gateway(&self, key: Key) -> bool {
        self.nodes.get(&key).is_some_and(|it| it.is_any(MEETING))
    }

    fn is_fork(&self, key: Key) -> bool {
        self.is_gateway(key) && self.next(key).len() > 1 && self.before(key).len() < 2
    }

    fn is_join(&self, key: Key) -> bool {
        let awaits_all = |it: &Node<'a>| !super::fleans::counts(*it);
        self.is_gateway(key)
            && self.nodes.get(&key).is_some_and(awaits_all)
            && self.before(key).len() > 1
            && self.next(key).len() < 2
    }

    /// Whether several tokens may leave a node.
    fn splits(&self, key: Key) -> bool {
        let Some(node) = self.nodes.get(&key) else { return true };
        let events = self.next(key).iter().filter_map(|it| self.nodes.get(it));
        let own = events.clone().filter(|it| !it.is("boundaryEvent")).count();
        let chooses = node.is_any(&["exclusiveGateway", "eventBasedGateway"]);
        let beside =
            |it: &&Node<'a>| it.is("boundaryEvent") && !is_true(**it, "cancelActivity", true);
        own > 1 && !chooses || events.clone().any(|it| beside(&it))
    }

    /// The joins behind a fork, nearest first.
    fn joins(&self, fork: Key) -> Vec<Key> {
        let mut seen = HashSet::from([fork]);
        let mut todo = VecDeque::from([fork]);
        let mut joins = Vec::new();
        while let Some(key) = todo.pop_front() {
            if key != fork && self.is_join(key) {
                joins.push(key);
            }
            if joins.len() == JOINS_MAX || seen.len() > REGION_MAX {
                break;
            }
            todo.extend(self.next(key).iter().filter(|it| seen.insert(**it)));
        }
        joins
    }

    /// Whether all that begins at a node ends without meeting anything else.
    fn ends_alone(&self, from: Key, forks_of: &HashMap<Key, Key>) -> bool {
        let mut region = HashSet::new();
        let mut todo: Vec<Key> = self.next(from).to_vec();
        while let Some(key) = todo.pop() {
            if key == from || region.len() > REGION_MAX {
                return false;
            }
            if region.insert(key) {
                todo.extend(self.next(key));
            }
        }
        region.iter().all(|key| {
            let meets = self.nodes.get(key).is_some_and(|it| it.is_any(MEETING));
            let own_fork = forks_of.get(key).is_some_and(|fork| region.contains(fork));
            !meets || self.before(*key).len() < 2 || own_fork
        })
    }

    /// What lies between a fork and a join, where that is closed in itself.
    fn region(&self, fork: Key, join: Key) -> Option<HashSet<Key>> {
        let mut region = HashSet::new();
        let mut todo: Vec<Key> = self.next(fork).to_vec();
        while let Some(key) = todo.pop() {
            if key == join || !region.insert(key) {
                continue;
            }
            if key == fork || region.len() > REGION_MAX || self.next(key).is_empty() {
                return None;
            }
            todo.extend(self.next(key));
        }
        let inside = |it: &Key| *it == fork || region.contains(it);
        let closed = region.iter().chain([&join]).all(|it| self.before(*it).iter().all(inside));
        closed.then_some(region)
    }
}

/// The event that catches the link which an event throws.
fn caught_by<'a>(thrower: Node<'a>, container: Node<'a>, files: &Files<'a>) -> Option<Node<'a>> {
    let link = |it| files.definition(it, "linkEventDefinition")?.attr("name");
    let name = link(thrower)?;
    container.all("intermediateCatchEvent").find(|it| link(*it) == Some(name))
}

/// What has variables of its own in a container.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// Forks, each with the join where its branches come together.
    pub(super) pairs: Vec<(Key, Key)>,
    /// Forks whose branches end without one.
    pub(super) loose: Vec<Key>,
    /// Boundary events that do not interrupt, and whose ways end by themselves.
    pub(super) apart: Vec<Key>,
}

/// The branches of a container.
pub(super) fn branches<'a>(container: Node<'a>, files: &Files<'a>) -> Branches {
    let ways = Ways::new(container, files);
    let pairs = pairs(&ways);
    let joins: HashMap<Key, Key> = pairs.iter().map(|(fork, join)| (*join, *fork)).collect();
    let mut all = Branches::default();
    let mut nodes: Vec<(&Key, &Node<'a>)> = ways.nodes.iter().collect();
    nodes.sort_unstable_by_key(|(key, _)| **key);
    for (key, node) in nodes {
        let is_paired = pairs.iter().any(|(fork, _)| fork == key);
        if ways.is_fork(*key) && !is_paired && ways.ends_alone(*key, &joins) {
            all.loose.push(*key);
        }
        let beside = node.is("boundaryEvent")
            && !is_true(*node, "cancelActivity", true)
            && files.definition(*node, "compensateEventDefinition").is_none();
        if beside && ways.ends_alone(*key, &joins) {
            all.apart.push(*key);
        }
    }
    all.pairs = pairs;
    all
}

/// The forks and joins that belong together.
fn pairs(ways: &Ways<'_>) -> Vec<(Key, Key)> {
    let mut found: Vec<(Key, Key, HashSet<Key>)> = Vec::new();
    let mut forks: Vec<Key> = ways.nodes.keys().copied().filter(|it| ways.is_fork(*it)).collect();
    forks.sort_unstable();
    for fork in forks {
        let mut joins = ways.joins(fork).into_iter();
        let pair = joins.find_map(|it| Some((fork, it, ways.region(fork, it)?)));
        found.extend(pair);
    }
    // A branch is one token, so what splits on its way must come together on it.
    loop {
        let known: HashSet<Key> = found.iter().map(|(fork, _, _)| *fork).collect();
        let before = found.len();
        found.retain(|(_, _, region)| {
            region.iter().all(|it| !ways.splits(*it) || known.contains(it))
        });
        if found.len() == before {
            return found.into_iter().map(|(fork, join, _)| (fork, join)).collect();
        }
    }
}
