//! Rules about event-based gateways and what comes behind them.

use super::{Rules, graph::end};
use crate::{lower::is_true, xml::Node};

const AWAITED: &[&str] = &[
    "messageEventDefinition",
    "signalEventDefinition",
    "timerEventDefinition",
    "conditionalEventDefinition",
];

impl<'a> Rules<'a> {
    pub(super) fn check_event_gateway(&self, gateway: Node<'a>) {
        let targets: Vec<_> = self
            .graph
            .outgoing(gateway)
            .iter()
            .filter_map(|it| end(*it, "targetRef", self.files))
            .collect();
        if targets.len() < 2 {
            let message = format!("{} has fewer than two events to wait for", gateway.title());
            self.standard(
                "TV0464",
                gateway,
                message,
                "add another one, or use a catch event alone",
            );
        }
        if gateway.attr("eventGatewayType") == Some("Parallel")
            && !is_true(gateway, "instantiate", false)
        {
            let message = format!("{} is parallel but starts no instance", gateway.title());
            self.error("TV0465", gateway, message, "make it exclusive, or set instantiate");
        }
        for target in &targets {
            self.check_target(gateway, *target);
        }
        let receives = targets.iter().any(|it| it.is("receiveTask"));
        let is_message = |it: &Node<'a>| it.is("messageEventDefinition");
        let catches = targets.iter().find(|it| self.definitions(**it).iter().any(is_message));
        if let (true, Some(catch)) = (receives, catches) {
            let message =
                format!("{} has receive tasks and message events behind it", gateway.title());
            self.error("TV0462", *catch, message, "use one of both");
        }
    }

    fn check_target(&self, gateway: Node<'a>, target: Node<'a>) {
        let fits = match target.name() {
            "receiveTask" => true,
            "intermediateCatchEvent" => {
                self.definitions(target).iter().all(|it| AWAITED.contains(&it.name()))
            }
            _ => false,
        };
        if !fits {
            let message = format!("{} cannot wait for {}", gateway.title(), target.title());
            let help = "put a message, signal, timer or conditional event, or a receive task there";
            self.error("TV0460", target, message, help);
            return;
        }
        if self.graph.incoming(target).len() > 1 {
            let message = format!(
                "{} stands behind {} and has another incoming flow",
                target.title(),
                gateway.title()
            );
            self.error("TV0461", target, message, "let the other flow lead elsewhere");
        }
        if let [boundary, ..] = self.graph.boundaries(target)
            && target.is("receiveTask")
        {
            let message =
                format!("{} stands behind a gateway and has boundary events", target.title());
            self.error("TV0463", *boundary, message, "remove them");
        }
    }
}
