//! Timers whose time is over before anyone starts them.

use travertine_kernel::plan::{Element, NodeId, TimerKind, Trigger};
use travertine_value::{
    Limits, Map,
    time::{Timestamp, due},
};

use super::Subject;

pub(super) fn check(subject: Subject<'_, '_>, now: Timestamp) {
    for id in subject.nodes() {
        let triggers = match &subject.plan().node(id).element {
            Element::Start(it) => &it.triggers,
            Element::Catch(it) | Element::Receive(it) => &it.triggers,
            Element::Boundary(it) => &it.triggers,
            _ => continue,
        };
        for trigger in triggers {
            if let Trigger::Timer { kind, when } = trigger
                && when.reads() == Some(&[])
                && let Ok(value) = when.value(&Map::new(), &Limits::default())
                && let Some(text) = value.as_str()
            {
                timer(subject, id, *kind, text, now);
            }
        }
    }
}

fn timer(subject: Subject<'_, '_>, id: NodeId, kind: TimerKind, text: &str, now: Timestamp) {
    let over = match kind {
        TimerKind::Date => due(kind, text, now).is_ok_and(|it| it.at < now),
        TimerKind::Duration => text.starts_with('-'),
        // A cycle that began long ago still goes on, if it has not ended.
        TimerKind::Cycle | TimerKind::QuartzCycle => ended(text, now),
    };
    if over {
        let message = format!("the time of {} is over already: {text}", subject.title(id));
        subject.warn("TV0929", id, message, "write a time to come, or a duration");
    }
}

/// Whether a cycle has its end in the past: `R/PT1H/2020-01-01T00:00:00Z`.
fn ended(text: &str, now: Timestamp) -> bool {
    if !text.starts_with('R') {
        return false;
    }
    let Some(end) = text.splitn(3, '/').nth(2) else { return false };
    due(TimerKind::Date, end, now).is_ok_and(|it| it.at < now)
}
