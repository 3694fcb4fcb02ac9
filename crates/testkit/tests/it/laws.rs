//! What holds of every process and every order of events.
//!
//! `PROPTEST_CASES=20000 cargo test -p travertine-testkit --release --test it laws` looks harder.

use std::collections::BTreeMap;

use proptest::prelude::*;
use travertine_kernel::{
    Command, Destination, Effect, Ending, Event, Instance, Mapping, Modification, NodeId, Plan,
    ROOT, Role, TokenId, Turn, WaitId, Which, check_at_rest, effects, handle, migrate, outstanding,
    plan::{Container, Element},
    replay,
    time::Timestamp,
};
use travertine_testkit::{
    block::{Block, block},
    oracle::{Offer, Rest},
};

/// An instance, everything that has happened to it, and a copy that only ever heard of events.
struct Lab {
    plan: Plan,
    instance: Instance,
    shadow: Instance,
    log: Vec<Event>,
    /// What has had a number so far.
    numbered: BTreeMap<u64, String>,
}

impl Lab {
    fn new(block: &Block, turn_steps_max: u32) -> Self {
        let mut plan = block.plan();
        plan.turn_steps_max = turn_steps_max;
        Self {
            plan,
            instance: Instance::default(),
            shadow: Instance::default(),
            log: Vec::new(),
            numbered: BTreeMap::new(),
        }
    }

    /// No number ever stands for two things, whatever has become of them.
    fn check_numbers(&mut self) {
        let mut all = Vec::new();
        for (token, it) in &self.instance.tokens {
            if *token != ROOT {
                let node = &self.plan.node(it.node).name;
                all.push((it.visit, format!("token {token:?} at {node}")));
            }
        }
        for (layer, it) in &self.instance.layers {
            let number = |name| it.variables.number(name).expect("a variable has a number");
            all.extend(it.variables.keys().map(|name| (number(name), format!("{layer:?} {name}"))));
        }
        for (token, it) in &self.instance.incidents {
            all.push((it.number, format!("incident of {token:?}")));
        }
        for (number, what) in all {
            let known = self.numbered.entry(number).or_insert_with(|| what.clone());
            assert_eq!(*known, what, "{number} stands for one thing");
        }
    }

    /// Asks, and goes on until nothing is left to do. The copy must be the same after each turn.
    fn ask(&mut self, mut command: Command) {
        loop {
            let turn = handle(&self.plan, &mut self.instance, Timestamp::default(), command);
            let Turn { events, unfinished } = turn.expect("the command is one that can be done");
            for event in &events {
                travertine_kernel::apply(&mut self.shadow, event);
            }
            assert_eq!(self.shadow, self.instance, "events tell all that changes");
            let kept = self.instance.parts().assemble();
            assert_eq!(kept.as_ref(), Ok(&self.instance), "parts tell all there is");
            self.check_numbers();
            self.log.extend(events);
            if !unfinished {
                break;
            }
            command = Command::Continue;
        }
        check_at_rest(&self.instance);
    }

    fn start(&mut self) {
        self.ask(Command::Start { at: Vec::new(), variables: Vec::new(), caller: None });
    }

    fn offers(&self) -> Vec<(Offer, WaitId)> {
        let waits = self.instance.waits.iter();
        let mut offers: Vec<_> = waits.map(|(id, wait)| (self.offer(wait.token), *id)).collect();
        offers.sort();
        offers
    }

    fn go_on_by(&mut self, plan: Plan) {
        let now = Timestamp::default();
        let turn = migrate(&self.plan, &plan, &mut self.instance, now, &Mapping::new());
        let Turn { events, unfinished } = turn.expect("everything has its place");
        assert!(!unfinished);
        for event in &events {
            travertine_kernel::apply(&mut self.shadow, event);
        }
        assert_eq!(self.shadow, self.instance, "events tell all that changes");
        self.log.extend(events);
        self.plan = plan;
        self.check_numbers();
        check_at_rest(&self.instance);
    }

    /// What is offered, by names that are the same in every numbering.
    fn named_offers(&self) -> Vec<((String, Vec<u32>), WaitId)> {
        let waits = self.instance.waits.iter();
        let mut offers: Vec<_> = waits
            .map(|(id, wait)| {
                let Offer { node, runs } = self.offer(wait.token);
                ((self.plan.nodes[node as usize].name.to_string(), runs), *id)
            })
            .collect();
        offers.sort();
        offers
    }

    fn step(&self, (kind, token, node): (u8, usize, usize)) -> Modification {
        let tokens: Vec<TokenId> = self.instance.tokens.keys().copied().collect();
        let token = tokens[token % tokens.len()];
        let node = NodeId(u32::try_from(node % self.plan.nodes.len()).expect("plans are small"));
        let to = Destination::before(node);
        let at = Which::At(self.instance.tokens[&token].node);
        match kind {
            0 => Modification::Withdraw(Which::Token(token)),
            1 => Modification::Withdraw(at),
            5 => Modification::Withdraw(Which::Visit(self.instance.tokens[&token].visit)),
            6 => {
                let host = self.instance.tokens[&token].scope.unwrap_or(ROOT);
                let visit = self.instance.tokens[&host].visit;
                Modification::AddWithin { to, visit }
            }
            2 => Modification::Add { to, scope: None },
            3 => Modification::Add { to, scope: self.instance.tokens[&token].scope },
            _ => Modification::Move { which: Which::Token(token), to },
        }
    }

    fn offer(&self, token: TokenId) -> Offer {
        let tokens = &self.instance.tokens;
        let mut runs = Vec::new();
        let mut next = Some(token);
        while let Some(id) = next {
            if let Role::Run(index) = tokens[&id].role {
                runs.push(index);
            }
            next = tokens[&id].scope;
        }
        runs.reverse();
        Offer { node: tokens[&token].node.0, runs }
    }
}

/// Each event at a boundary happens once: two copies of one handler could not be told apart.
fn pick(
    offers: &[(Offer, WaitId)],
    seen: &mut Vec<Offer>,
    lab: &Lab,
    pick: usize,
) -> Option<(Offer, WaitId)> {
    let fresh: Vec<_> = offers.iter().filter(|(offer, _)| !seen.contains(offer)).collect();
    let (offer, wait) = fresh.get(pick % fresh.len().max(1)).copied()?.clone();
    let name = &lab.plan.nodes[offer.node as usize].name;
    if name.starts_with("boundary") || name.starts_with("event-start") {
        seen.push(offer.clone());
    }
    Some((offer, wait))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The kernel offers what the oracle says, in whatever order the world answers, and ends when
    /// it says. Long runs are cut into turns, which changes nothing.
    #[test]
    fn the_kernel_does_what_the_blocks_mean(
        block in block(),
        turn_steps_max in prop_oneof![Just(10_000u32), 1..5u32],
        picks in prop::collection::vec(any::<usize>(), 120),
    ) {
        let mut lab = Lab::new(&block, turn_steps_max);
        let mut rest = Rest::new(&block);
        let mut seen = Vec::new();
        lab.start();
        for number in picks {
            let offers = lab.offers();
            let found: Vec<Offer> = offers.iter().map(|(offer, _)| offer.clone()).collect();
            prop_assert_eq!(&found, &rest.offers(), "{:#?}", block);
            let Some((offer, wait)) = pick(&offers, &mut seen, &lab, number) else { break };
            lab.ask(Command::Complete { wait, variables: Vec::new() });
            rest.answer(&offer);
        }
        prop_assert_eq!(lab.instance.ending().is_some(), rest.is_done());
        if rest.is_done() {
            prop_assert_eq!(lab.instance.ending(), Some(&Ending::Completed));
        }
        prop_assert!(lab.instance.incidents.is_empty());
    }

    /// The log tells the whole state, a crash loses no request, and the same input gives the same
    /// bytes.
    #[test]
    fn the_log_is_the_truth(block in block(), picks in prop::collection::vec(any::<usize>(), 60)) {
        let mut lab = Lab::new(&block, 10_000);
        let mut twin = Lab::new(&block, 10_000);
        let mut seen = Vec::new();
        lab.start();
        twin.start();
        for number in picks {
            prop_assert_eq!(&replay(&lab.log), &lab.instance);
            prop_assert_eq!(owed(&lab.log), outstanding(&lab.instance));
            let offers = lab.offers();
            let Some((_, wait)) = pick(&offers, &mut seen, &lab, number) else { break };
            lab.ask(Command::Complete { wait, variables: Vec::new() });
            twin.ask(Command::Complete { wait, variables: Vec::new() });
            prop_assert_eq!(format!("{:?}", lab.log), format!("{:?}", twin.log));

            let before = lab.instance.clone();
            let again = Command::Complete { wait, variables: Vec::new() };
            let refused = handle(&lab.plan, &mut lab.instance, Timestamp::default(), again);
            prop_assert!(refused.is_err(), "a wait is met once");
            prop_assert_eq!(&lab.instance, &before, "a refused command changes nothing");
        }
    }

    /// Whatever operators do is done whole or not at all, and told whole by the events; afterwards
    /// the instance can be worked on, or cancelled, like any other.
    #[test]
    fn interventions_leave_a_sound_instance(
        block in block(),
        moves in prop::collection::vec((any::<usize>(), step(), step()), 1..30),
    ) {
        let mut lab = Lab::new(&block, 10_000);
        lab.start();
        for (number, first, second) in moves {
            if !lab.instance.is_running() {
                break;
            }
            let before = lab.instance.clone();
            let steps = vec![lab.step(first), lab.step(second)];
            let command = Command::Modify { steps };
            let mut copy = lab.instance.clone();
            if handle(&lab.plan, &mut copy, Timestamp::default(), command.clone()).is_ok() {
                lab.ask(command);
            } else {
                prop_assert_eq!(&copy, &before, "a refused command changes nothing");
            }
            prop_assert_eq!(&replay(&lab.log), &lab.instance);
            prop_assert_eq!(owed(&lab.log), outstanding(&lab.instance));
            let offers = lab.offers();
            if let Some((_, wait)) = offers.get(number % offers.len().max(1)) {
                lab.ask(Command::Complete { wait: *wait, variables: Vec::new() });
            }
        }
        if lab.instance.is_running() {
            lab.ask(Command::Cancel);
        }
        prop_assert!(lab.instance.tokens.is_empty());
        prop_assert!(lab.instance.bound.is_empty());
        prop_assert!(outstanding(&lab.instance).is_empty());
        prop_assert_eq!(lab.instance.layers.len(), 1, "only the process's own variables stay");
    }

    /// Going on by the same plan changes nothing; going on by one whose nodes and flows have other
    /// numbers changes nothing but the numbers.
    #[test]
    fn a_plan_with_other_numbers_is_the_same_plan(
        block in block(),
        picks in prop::collection::vec(any::<usize>(), 60),
        when in 0..12usize,
    ) {
        let mut lab = Lab::new(&block, 10_000);
        lab.start();
        let mut twin = Lab::new(&block, 10_000);
        twin.start();
        let mut seen = Vec::new();
        for (round, number) in picks.into_iter().enumerate() {
            if round == when && lab.instance.is_running() {
                let before = lab.instance.clone();
                let same = lab.plan.clone();
                lab.go_on_by(same);
                prop_assert_eq!(&lab.instance, &before);
                let renumbered = renumber(&lab.plan);
                lab.go_on_by(renumbered);
                prop_assert_eq!(&replay(&lab.log), &lab.instance);
                prop_assert_eq!(owed(&lab.log), outstanding(&lab.instance));
            }
            let (offers, twins) = (lab.named_offers(), twin.named_offers());
            let names = |it: &[((String, Vec<u32>), WaitId)]| -> Vec<(String, Vec<u32>)> {
                it.iter().map(|(name, _)| name.clone()).collect()
            };
            prop_assert_eq!(names(&offers), names(&twins));
            let fresh: Vec<usize> =
                (0..offers.len()).filter(|it| !seen.contains(&offers[*it].0)).collect();
            let Some(&chosen) = fresh.get(number % fresh.len().max(1)) else { break };
            let (name, wait) = offers[chosen].clone();
            lab.ask(Command::Complete { wait, variables: Vec::new() });
            let wait = twins[chosen].1;
            twin.ask(Command::Complete { wait, variables: Vec::new() });
            if name.0.starts_with("boundary") || name.0.starts_with("event-start") {
                seen.push(name);
            }
        }
        prop_assert_eq!(lab.instance.ending(), twin.instance.ending());
    }

    /// Whatever is under way, cancelling leaves nothing behind.
    #[test]
    fn cancelling_leaves_nothing_behind(block in block(), picks in prop::collection::vec(any::<usize>(), 0..20)) {
        let mut lab = Lab::new(&block, 10_000);
        let mut seen = Vec::new();
        lab.start();
        for number in picks {
            let offers = lab.offers();
            let Some((_, wait)) = pick(&offers, &mut seen, &lab, number) else { break };
            lab.ask(Command::Complete { wait, variables: Vec::new() });
        }
        if lab.instance.is_running() {
            lab.ask(Command::Cancel);
            prop_assert_eq!(lab.instance.ending(), Some(&Ending::Cancelled));
        }
        prop_assert!(lab.instance.tokens.is_empty());
        prop_assert!(lab.instance.scopes.is_empty());
        prop_assert!(outstanding(&lab.instance).is_empty());
        prop_assert_eq!(lab.instance.layers.len(), 1, "only the process's own variables stay");
    }
}

/// This plan with its nodes, apart from the process, and its flows the other way round.
fn renumber(plan: &Plan) -> Plan {
    let last = u32::try_from(plan.nodes.len()).expect("plans are small");
    let turned = |id: NodeId| if id == NodeId(0) { id } else { NodeId(last - id.0) };
    let mut nodes = plan.nodes.clone();
    nodes[1..].reverse();
    for node in &mut nodes {
        node.parent = node.parent.map(turned);
        for list in [&mut node.outgoing, &mut node.incoming] {
            list.clear();
        }
        node.boundary.clear();
        node.compensation = None;
        match &mut node.element {
            Element::Process(it) | Element::SubProcess(it) | Element::Transaction(it) => {
                *it = Container::default();
            }
            Element::AdHoc(it) => it.container = Container::default(),
            Element::Gosub { process } => *process = turned(*process),
            Element::EventSubProcess(it) => {
                it.container = Container::default();
                it.start = turned(it.start);
            }
            Element::Boundary(it) => {
                it.attached_to = turned(it.attached_to);
                it.handler = it.handler.map(turned);
            }
            _ => {}
        }
    }
    let mut flows = plan.flows.clone();
    for flow in &mut flows {
        (flow.from, flow.to) = (turned(flow.from), turned(flow.to));
    }
    // The order of the flows that leave a node has a meaning, that of the nodes they leave has none.
    flows.sort_by_key(|it| it.from);
    let mut plan = Plan::new(nodes, flows);
    // Neither has the order of nodes, but for those of an ad-hoc sub-process.
    for node in &mut plan.nodes {
        if let Element::AdHoc(it) = &mut node.element {
            it.container.starts.reverse();
        }
    }
    plan
}

/// One step of an intervention: what it does, and two numbers that choose tokens and elements.
fn step() -> impl Strategy<Value = (u8, usize, usize)> {
    (0..7u8, any::<usize>(), any::<usize>())
}

/// What the effects of a whole life ask for and have not taken back.
fn owed(log: &[Event]) -> Vec<Effect> {
    effects(log).filter(|it| !matches!(it, Effect::Disarm(_))).collect()
}
