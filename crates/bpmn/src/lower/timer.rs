//! Timers: their expressions, and the texts that stand for themselves: ISO 8601, and cron.

use travertine_kernel::plan::{TimerKind, Trigger};
use travertine_value::time::{Cron, TimeError, Timestamp, due};

use super::Lowering;
use crate::{
    dialect::Dialect,
    expression::{Text, literal},
    xml::Node,
};

impl<'a> Lowering<'a> {
    pub(super) fn timer(&self, definition: Node<'a>) -> Option<Trigger> {
        // Quartz reads them there, which counts weekdays from 1.
        let cycle = match self.dialect {
            Dialect::Camunda7 => TimerKind::QuartzCycle,
            Dialect::Native | Dialect::Camunda8 | Dialect::Fleans => TimerKind::Cycle,
        };
        let kinds = [
            ("timeDate", TimerKind::Date),
            ("timeDuration", TimerKind::Duration),
            ("timeCycle", cycle),
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
        let is_expression = text.is_marked() || self.compiler.default.is_some();
        let when = match due(kind, text.source, Timestamp::default()) {
            Ok(_) => literal(text.source),
            Err(_) if is_expression && !Cron::is_meant(text.source) => {
                self.compiler.expression(text)
            }
            Err(_) if text.is_marked() => self.compiler.expression(text),
            Err(error) => {
                self.not_a_time(node, kind, &error);
                literal(text.source)
            }
        };
        let once = self.dialect == Dialect::Fleans
            && kind == TimerKind::Cycle
            && !super::fleans::repeats(definition);
        let when = if once { super::fleans::once(&when) } else { when };
        Some(Trigger::Timer { kind, when })
    }

    fn not_a_time(&self, node: Node<'a>, kind: TimerKind, error: &TimeError) {
        let example = match kind {
            TimerKind::Date => "2030-01-31T12:00:00Z",
            TimerKind::Duration => "PT15M",
            TimerKind::Cycle | TimerKind::QuartzCycle => "R3/PT10M or 0 0 9 * * MON-FRI",
        };
        let message = format!("{} of {}: {error}", node.name(), owner_of(node));
        self.error("TV0512", node, message, &format!("write something like {example}, or ${{…}}"));
    }
}

/// How messages call the event that a time stands in.
fn owner_of(time: Node<'_>) -> String {
    time.parent().map(owner).unwrap_or_default()
}

/// How messages call the event that a definition stands in.
fn owner(definition: Node<'_>) -> String {
    definition.parent().map(Node::title).unwrap_or_default()
}
