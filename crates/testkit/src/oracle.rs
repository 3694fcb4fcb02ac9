//! What a process made of blocks offers, worked out without tokens.
//!
//! The oracle keeps what is left of the process as a tree and rewrites it with every answer from
//! outside. It knows nothing of plans, scopes or events, so it cannot share the kernel's mistakes.

use crate::block::{Block, chosen};

/// What can be answered: where, and in which runs of the activities around it, outermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offer {
    /// The node, numbered as the plan numbers it.
    pub node: u32,
    /// The runs around it.
    pub runs: Vec<u32>,
}

/// What is left of a process.
#[derive(Clone, Debug)]
pub struct Rest(Tree);

#[derive(Clone, Debug)]
enum Tree {
    Done,
    /// Waits for one answer.
    Job(Offer),
    /// Waits for any of so many answers at the same place, or for all of them.
    Events {
        event: Offer,
        count: usize,
        all: bool,
    },
    /// The first, then the rest.
    Seq(Vec<Self>),
    Par(Vec<Self>),
    /// So many must be done before it goes on, and the others may end later.
    Enough {
        need: usize,
        branches: Vec<Self>,
        then: Box<Self>,
    },
    /// The answer decides what follows.
    Race(Vec<(Offer, Self)>),
    /// Catches the end of everything inside.
    Scope(Box<Self>),
    /// Catches errors inside.
    Try(Box<Self>, Box<Self>),
    /// An event can replace the body, or start a copy of the handler beside it.
    Guarded {
        event: Offer,
        interrupting: bool,
        body: Box<Self>,
        handler: Box<Self>,
    },
    Throw,
    Stop,
}

/// What has become of a tree that was brought forward as far as it goes by itself.
enum Now {
    Tree(Tree),
    Throw,
    Stop,
}

impl Rest {
    /// All of a process.
    pub fn new(block: &Block) -> Self {
        // The process is node 0 and its start node 1.
        let mut next = 2;
        let tree = grow(block, &mut next, &[]);
        Self(settle(Tree::Scope(Box::new(tree))))
    }

    /// What can be answered now, sorted.
    pub fn offers(&self) -> Vec<Offer> {
        let mut offers = Vec::new();
        collect(&self.0, &mut offers);
        offers.sort();
        offers
    }

    /// Whether nothing is left.
    pub fn is_done(&self) -> bool {
        matches!(self.0, Tree::Done)
    }

    /// Goes on after one answer.
    pub fn answer(&mut self, offer: &Offer) {
        let tree = std::mem::replace(&mut self.0, Tree::Done);
        self.0 = settle(answer(tree, offer));
    }
}

fn settle(tree: Tree) -> Tree {
    match forward(tree) {
        Now::Tree(tree) => tree,
        Now::Throw => unreachable!("every error of a random process is handled"),
        Now::Stop => Tree::Done,
    }
}

fn collect(tree: &Tree, offers: &mut Vec<Offer>) {
    match tree {
        Tree::Done | Tree::Throw | Tree::Stop => {}
        Tree::Job(offer) => offers.push(offer.clone()),
        Tree::Events { event, count, .. } => {
            offers.extend(std::iter::repeat_n(event.clone(), *count));
        }
        Tree::Seq(trees) => collect(&trees[0], offers),
        Tree::Par(trees) | Tree::Enough { branches: trees, .. } => {
            for tree in trees {
                collect(tree, offers);
            }
        }
        Tree::Race(runners) => offers.extend(runners.iter().map(|(offer, _)| offer.clone())),
        Tree::Scope(body) | Tree::Try(body, _) => collect(body, offers),
        Tree::Guarded { event, body, .. } => {
            offers.push(event.clone());
            collect(body, offers);
        }
    }
}

/// Whether the offer is somewhere in the tree, now.
fn has(tree: &Tree, offer: &Offer) -> bool {
    let mut offers = Vec::new();
    collect(tree, &mut offers);
    offers.contains(offer)
}

fn answer(tree: Tree, offer: &Offer) -> Tree {
    match tree {
        Tree::Job(it) if it == *offer => Tree::Done,
        Tree::Seq(mut trees) => {
            let first = trees.remove(0);
            trees.insert(0, answer(first, offer));
            Tree::Seq(trees)
        }
        Tree::Events { event, count, all: true } if event == *offer && count > 1 => {
            Tree::Events { event, count: count - 1, all: true }
        }
        Tree::Events { event, .. } if event == *offer => Tree::Done,
        Tree::Par(trees) => Tree::Par(answer_one(trees, offer)),
        Tree::Enough { need, branches, then } => {
            Tree::Enough { need, branches: answer_one(branches, offer), then }
        }
        Tree::Race(runners) => {
            let winner = runners.into_iter().find(|(it, _)| it == offer);
            winner.map_or(Tree::Done, |(_, tree)| tree)
        }
        Tree::Scope(body) => Tree::Scope(Box::new(answer(*body, offer))),
        Tree::Try(body, handler) => Tree::Try(Box::new(answer(*body, offer)), handler),
        Tree::Guarded { event, interrupting: true, handler, .. } if event == *offer => *handler,
        Tree::Guarded { event, interrupting: false, body, handler } if event == *offer => {
            let copy = (*handler).clone();
            Tree::Par(vec![Tree::Guarded { event, interrupting: false, body, handler }, copy])
        }
        Tree::Guarded { event, interrupting, body, handler } => {
            let body = Box::new(answer(*body, offer));
            Tree::Guarded { event, interrupting, body, handler }
        }
        other => other,
    }
}

/// Two trees offer the same thing only where they are copies of one another.
fn answer_one(trees: Vec<Tree>, offer: &Offer) -> Vec<Tree> {
    let mut answered = false;
    let each = trees.into_iter().map(|it| {
        if !answered && has(&it, offer) {
            answered = true;
            answer(it, offer)
        } else {
            it
        }
    });
    each.collect()
}

/// Takes every step that needs no answer.
fn forward(tree: Tree) -> Now {
    match tree {
        Tree::Done => Now::Tree(Tree::Done),
        Tree::Throw => Now::Throw,
        Tree::Stop => Now::Stop,
        it @ (Tree::Job(_) | Tree::Events { .. } | Tree::Race(_)) => Now::Tree(it),
        Tree::Enough { need, branches, then } => {
            let mut left = Vec::new();
            let mut done = 0;
            for tree in branches {
                match forward(tree) {
                    Now::Tree(Tree::Done) => done += 1,
                    Now::Tree(tree) => left.push(tree),
                    other => return other,
                }
            }
            if done < need {
                return Now::Tree(Tree::Enough { need: need - done, branches: left, then });
            }
            left.push(*then);
            forward(Tree::Par(left))
        }
        Tree::Seq(mut trees) => {
            while !trees.is_empty() {
                match forward(trees.remove(0)) {
                    Now::Tree(Tree::Done) => {}
                    Now::Tree(first) => {
                        trees.insert(0, first);
                        return Now::Tree(Tree::Seq(trees));
                    }
                    other => return other,
                }
            }
            Now::Tree(Tree::Done)
        }
        Tree::Par(trees) => {
            let mut left = Vec::new();
            for tree in trees {
                match forward(tree) {
                    Now::Tree(Tree::Done) => {}
                    Now::Tree(tree) => left.push(tree),
                    other => return other,
                }
            }
            Now::Tree(if left.is_empty() { Tree::Done } else { Tree::Par(left) })
        }
        Tree::Scope(body) => match forward(*body) {
            Now::Tree(Tree::Done) | Now::Stop => Now::Tree(Tree::Done),
            Now::Tree(body) => Now::Tree(Tree::Scope(Box::new(body))),
            Now::Throw => Now::Throw,
        },
        Tree::Try(body, handler) => match forward(*body) {
            Now::Tree(Tree::Done) => Now::Tree(Tree::Done),
            Now::Tree(body) => Now::Tree(Tree::Try(Box::new(body), handler)),
            Now::Throw => forward(*handler),
            Now::Stop => Now::Stop,
        },
        Tree::Guarded { event, interrupting, body, handler } => match forward(*body) {
            Now::Tree(Tree::Done) => Now::Tree(Tree::Done),
            Now::Tree(body) => {
                let body = Box::new(body);
                Now::Tree(Tree::Guarded { event, interrupting, body, handler })
            }
            other => other,
        },
    }
}

fn take(next: &mut u32) -> u32 {
    *next += 1;
    *next - 1
}

fn offer(node: u32, runs: &[u32]) -> Offer {
    Offer { node, runs: runs.to_vec() }
}

/// The tree of a block whose first node gets number `next`. The numbers follow the order in which
/// [`Block::plan`] lays nodes; nothing else of the layout is known here.
fn grow(block: &Block, next: &mut u32, runs: &[u32]) -> Tree {
    match block {
        Block::Job | Block::Call => Tree::Job(offer(take(next), runs)),
        Block::Pass | Block::Holds => {
            take(next);
            Tree::Done
        }
        Block::Gated => {
            let gated = Tree::Job(offer(take(next), runs));
            Tree::Seq(vec![gated; 5])
        }
        Block::Events { count, all } => {
            Tree::Events { event: offer(take(next), runs), count: *count, all: *all }
        }
        Block::Told => {
            // A sub-process in a sub-process, each with its start, and the throw event.
            *next += 5;
            let work = Tree::Job(offer(take(next), runs));
            let _heard = take(next);
            Tree::Par(vec![work, Tree::Job(offer(take(next), runs))])
        }
        Block::Lots { times, .. } => {
            let _sub = take(next);
            let _start = take(next);
            let _give = take(next);
            let job = Tree::Job(offer(take(next), runs));
            Tree::Par(vec![job; *times as usize])
        }
        Block::Seq(blocks) => Tree::Seq(blocks.iter().map(|it| grow(it, next, runs)).collect()),
        Block::Par(blocks) | Block::Fan(blocks) => Tree::Par(branches(blocks, next, runs)),
        Block::Xor(pick, blocks) => branches(blocks, next, runs).swap_remove(*pick),
        Block::Or(mask, blocks) => {
            let all = branches(blocks, next, runs).into_iter().enumerate();
            let taken = all.filter(|(position, _)| chosen(*mask, blocks.len(), *position));
            Tree::Par(taken.map(|(_, tree)| tree).collect())
        }
        Block::Sub(body) => Tree::Scope(Box::new(inside(body, next, runs))),
        Block::Gosub(body) => {
            let _gosub = take(next);
            Tree::Scope(Box::new(inside(body, next, runs)))
        }
        Block::Dressed(body) => {
            let listener = Tree::Job(offer(*next, runs));
            let body = Tree::Scope(Box::new(inside(body, next, runs)));
            Tree::Seq(vec![listener.clone(), body, listener])
        }
        Block::AdHoc { sequential, bodies } => {
            let _ad_hoc = take(next);
            let bodies = bodies.iter().map(|it| Tree::Scope(Box::new(inside(it, next, runs))));
            if *sequential { Tree::Seq(bodies.collect()) } else { Tree::Par(bodies.collect()) }
        }
        Block::Enough { need, branches: of, then } => {
            let _sub = take(next);
            let _start = take(next);
            let branches = branches(of, next, runs);
            let then = Box::new(grow(then, next, runs));
            Tree::Scope(Box::new(Tree::Enough { need: *need, branches, then }))
        }
        Block::Undone { inside: by_event, body, handler, .. } => {
            let _outer = take(next);
            let _start = take(next);
            let body = Tree::Scope(Box::new(inside(body, next, runs)));
            // A sub-process and its start, or an event sub-process and its start.
            let handler = Tree::Scope(Box::new(inside(handler, next, runs)));
            if !by_event {
                let _boundary = take(next);
            }
            let _throw = take(next);
            Tree::Seq(vec![body, handler])
        }
        Block::Each { count, sequential, body } => {
            let copies = copies(body, *count, next, runs);
            if *sequential { Tree::Seq(copies) } else { Tree::Par(copies) }
        }
        Block::Loop { count, body } => Tree::Seq(copies(body, *count, next, runs)),
        Block::Race(blocks) => {
            let _race = take(next);
            let _merge = take(next);
            let runners = blocks.iter().map(|block| {
                let event = offer(take(next), runs);
                (event, grow(block, next, runs))
            });
            Tree::Race(runners.collect())
        }
        Block::Guarded { interrupting, body, handler } => {
            if !interrupting {
                let _outer = take(next);
                let _start = take(next);
            }
            let body = Tree::Scope(Box::new(inside(body, next, runs)));
            let event = offer(take(next), runs);
            let handler = grow(handler, next, runs);
            let guarded = Tree::Guarded {
                event,
                interrupting: *interrupting,
                body: Box::new(body),
                handler: Box::new(handler),
            };
            if *interrupting {
                let _merge = take(next);
                guarded
            } else {
                Tree::Scope(Box::new(guarded))
            }
        }
        Block::Eventful { interrupting, body, handler } => {
            let body = inside(body, next, runs);
            let _event = take(next);
            let event = offer(take(next), runs);
            // An event sub-process is a scope of its own.
            let handler = Tree::Scope(Box::new(grow(handler, next, runs)));
            Tree::Scope(Box::new(Tree::Guarded {
                event,
                interrupting: *interrupting,
                body: Box::new(body),
                handler: Box::new(handler),
            }))
        }
        Block::Try { body, handler, .. } => {
            let body = Tree::Scope(Box::new(inside(body, next, runs)));
            let _catch = take(next);
            let handler = grow(handler, next, runs);
            let _merge = take(next);
            Tree::Try(Box::new(body), Box::new(handler))
        }
        Block::Throw(_) => {
            take(next);
            Tree::Throw
        }
        Block::Stop => {
            take(next);
            Tree::Stop
        }
    }
}

/// A sub-process and its start come before what is inside.
fn inside(body: &Block, next: &mut u32, runs: &[u32]) -> Tree {
    let _sub = take(next);
    let _start = take(next);
    grow(body, next, runs)
}

fn branches(blocks: &[Block], next: &mut u32, runs: &[u32]) -> Vec<Tree> {
    let _fork = take(next);
    let _join = take(next);
    let each = blocks.iter().map(|block| {
        let _head = take(next);
        grow(block, next, runs)
    });
    each.collect()
}

fn copies(body: &Block, count: u32, next: &mut u32, runs: &[u32]) -> Vec<Tree> {
    let first = *next;
    let each = (0..count).map(|index| {
        *next = first;
        let runs = [runs, &[index]].concat();
        Tree::Scope(Box::new(inside(body, next, &runs)))
    });
    each.collect()
}
