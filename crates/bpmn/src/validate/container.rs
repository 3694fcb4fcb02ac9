//! Rules about what a process or sub-process contains.

use super::Rules;
use crate::{
    lower::is_true,
    schema,
    xml::{Node, Ns},
};

impl<'a> Rules<'a> {
    pub(super) fn check_container(&self, container: Node<'a>) {
        let starts: Vec<_> = container.all("startEvent").collect();
        let ends = container.all("endEvent").count();
        if container.is("adHocSubProcess") {
            return self.check_ad_hoc(container);
        }
        let is_triggered = is_true(container, "triggeredByEvent", false);
        if is_triggered {
            self.check_event_sub_process(container, &starts);
        } else if container.is("process") {
            self.check_process(container);
        } else {
            self.check_blank_starts(container, &starts);
        }
        if starts.is_empty() && ends > 0 && !is_triggered && !self.graph.is_instantiated(container)
        {
            let message = format!("{} has an end event but no start event", container.title());
            self.error("TV0411", container, message, "add a start event");
        }
        if !starts.is_empty() && ends == 0 {
            let message = format!("{} has a start event but no end event", container.title());
            let help = "its paths end where no flow leads on; add an end event to say so";
            self.harmless("TV0412", container, message, help);
        }
    }

    fn check_process(&self, process: Node<'a>) {
        if self.executable && process.id().is_none_or(|it| it.trim().is_empty()) {
            let message = "an executable process has no id".to_owned();
            self.error("TV0309", process, message, "give it one: it is deployed by it");
        }
        if process.attr("processType") == Some("Public") && is_true(process, "isExecutable", false)
        {
            let message = format!("{} is public, so it cannot be executable", process.title());
            self.standard("TV0413", process, message, "make it private, or not executable");
        }
        let nodes = process.children().filter(|it| *it.ns() == Ns::Bpmn);
        let mut nodes = nodes.filter(|it| schema::is_a(it.name(), "flowNode"));
        if is_true(process, "isExecutable", false) && nodes.next().is_none() {
            let message = format!("there is nothing to start in {}", process.title());
            self.error("TV0414", process, message, "draw something, or make it not executable");
        }
    }

    /// An embedded sub-process has one way in: from outside.
    fn check_blank_starts(&self, container: Node<'a>, starts: &[Node<'a>]) {
        if let [_, second, ..] = starts {
            let message = format!("{} has a second start event", container.title());
            self.error("TV0415", *second, message, "keep one of them");
        }
        for start in starts.iter().filter(|it| !self.definitions(**it).is_empty()) {
            let message = format!("the start event of {} waits for something", container.title());
            let help = "make it a plain start event, or the sub-process an event sub-process";
            self.error("TV0416", *start, message, help);
        }
    }

    fn check_event_sub_process(&self, container: Node<'a>, starts: &[Node<'a>]) {
        match starts {
            [start] if self.definitions(*start).is_empty() => {
                let message = format!("the start event of {} waits for nothing", container.title());
                self.error("TV0417", *start, message, "give it a trigger: a message, a timer, …");
            }
            [_] => {}
            [] => {
                let message = format!("event sub-process {} has no start event", container.title());
                self.error("TV0417", container, message, "add one with a trigger");
            }
            [_, second, ..] => {
                let message = format!("{} has a second start event", container.title());
                self.error("TV0415", *second, message, "keep one of them");
            }
        }
    }

    fn check_ad_hoc(&self, container: Node<'a>) {
        for event in container.children().filter(|it| it.is_any(&["startEvent", "endEvent"])) {
            let message = format!("ad-hoc {} has a {}", container.title(), event.name());
            self.error("TV0418", event, message, "remove it: its activities start without order");
        }
        let is_activity = |it: &Node<'a>| schema::is_a(it.name(), "activity");
        if !container.children().any(|it| is_activity(&it)) {
            let message = format!("ad-hoc {} has no activity", container.title());
            self.error("TV0419", container, message, "add one");
        }
    }
}
