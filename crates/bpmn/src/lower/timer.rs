//! Timers: their expressions, and the ISO 8601 texts that stand for themselves.

use travertine_kernel::plan::{TimerKind, Trigger};

use super::Lowering;
use crate::{
    expression::{Text, literal},
    iso8601,
    xml::Node,
};

impl<'a> Lowering<'a> {
    pub(super) fn timer(&self, definition: Node<'a>) -> Option<Trigger> {
        let kinds = [
            ("timeDate", TimerKind::Date),
            ("timeDuration", TimerKind::Duration),
            ("timeCycle", TimerKind::Cycle),
        ];
        let mut found =
            kinds.into_iter().filter_map(|(name, kind)| Some((definition.child(name)?, kind)));
        let Some((node, kind)) = found.next() else {
            let message = format!("the timer of {} has no time", owner(definition));
            let help = "add a timeDate, a timeDuration or a timeCycle";
            self.error("TV0510", definition, message, help);
            return None;
        };
        if let Some((second, _)) = found.next() {
            let message = format!("the timer of {} has two times", owner(definition));
            self.error("TV0511", second, message, "keep one of them");
        }
        let text = Text::of(node);
        let when = if is_time(kind, text.source) {
            literal(text.source)
        } else if text.is_marked() || self.compiler.default.is_some() {
            self.compiler.expression(text)
        } else {
            self.not_a_time(node, kind, text.source);
            literal(text.source)
        };
        Some(Trigger::Timer { kind, when })
    }

    fn not_a_time(&self, node: Node<'a>, kind: TimerKind, text: &str) {
        let example = match kind {
            TimerKind::Date => "2030-01-31T12:00:00Z",
            TimerKind::Duration => "PT15M",
            TimerKind::Cycle => "R3/PT10M",
        };
        let message = format!("'{text}' is not a {} of ISO 8601", node.name());
        self.error("TV0512", node, message, &format!("write something like {example}, or ${{…}}"));
    }
}

fn is_time(kind: TimerKind, text: &str) -> bool {
    match kind {
        TimerKind::Date => iso8601::is_date_time(text),
        TimerKind::Duration => iso8601::is_duration(text),
        TimerKind::Cycle => iso8601::is_cycle(text),
    }
}

/// How messages call the event that a definition stands in.
fn owner(definition: Node<'_>) -> String {
    definition.parent().map(Node::title).unwrap_or_default()
}
